// Sends what was stored to an OpenTelemetry collector, as spans and profiles: fleet serve
// --otlp-to.
//
// Storing never waits for it: batches that it cannot take are dropped and counted, and so is what
// the collector refuses. What waits for a collector that is away is held in memory.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "base/channel.h"
#include "sinks/otlp_carrier.h"
#include "store/batch.h"

namespace clrscope::fleet {

class OtlpForwarder {
 public:
  struct Setting {
    std::string to{};           // URL
    std::string header_file{};  // empty: none
    std::string ca_file{};      // empty: those of the system
    bool profiles = false;      // CPU samples too
  };
  static Result<std::unique_ptr<OtlpForwarder>> start(const Setting& setting);
  ~OtlpForwarder();  // delivers what waits, for a few seconds

  void offer(store::Batch batch);  // any thread; never waits
  // About once a second: logs new trouble.
  void tick();

 private:
  // What goes one way.
  struct Signal {
    const char* what = "";                    // "spans"
    std::unique_ptr<sinks::Outbox> outbox{};  // put() by worker_ only
    std::shared_ptr<Guarded<sinks::OtlpFate>> fate{};
    std::uint64_t told_dropped = 0;  // by tick()
  };
  static Result<Signal> open(const Setting& setting, const char* what,
                             const sinks::OtlpSignal& signal);
  OtlpForwarder(Signal spans, std::optional<Signal> profiles);
  void run(const std::stop_token& stop);
  static void tell(Signal& signal, std::uint64_t not_taken);
  static void finish(Signal& signal);

  static constexpr std::size_t kMostWaiting = 1024;
  static constexpr std::size_t kMostWeight = 1'000'000;  // spans and requests

  Signal spans_;
  std::optional<Signal> profiles_;
  std::atomic<std::uint64_t> not_taken_{0};  // spans
  Channel<store::Batch> inbox_{kMostWaiting, kMostWeight};
  std::jthread worker_;  // last member: joins first
};

}  // namespace clrscope::fleet
