// Sends what was stored to an OpenTelemetry collector, as spans: fleet serve --otlp-to.
//
// Storing never waits for it: batches that it cannot take are dropped and counted, and so is what
// the collector refuses. What waits for a collector that is away is held in memory.
#pragma once

#include <atomic>
#include <memory>
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
  };
  static Result<std::unique_ptr<OtlpForwarder>> start(const Setting& setting);
  ~OtlpForwarder();  // delivers what waits, for a few seconds

  void offer(store::Batch batch);  // any thread; never waits
  // About once a second: logs new trouble.
  void tick();

 private:
  OtlpForwarder(std::unique_ptr<sinks::Outbox> outbox,
                std::shared_ptr<Guarded<sinks::OtlpFate>> fate);
  void run(const std::stop_token& stop);

  static constexpr std::size_t kMostWaiting = 1024;
  static constexpr std::size_t kMostWeight = 1'000'000;  // spans and requests

  std::unique_ptr<sinks::Outbox> outbox_;  // put() by worker_ only
  std::shared_ptr<Guarded<sinks::OtlpFate>> fate_;
  std::atomic<std::uint64_t> not_taken_{0};  // spans
  std::uint64_t told_dropped_ = 0;           // by tick()
  Channel<store::Batch> inbox_{kMostWaiting, kMostWeight};
  std::jthread worker_;  // last member: joins first
};

}  // namespace clrscope::fleet
