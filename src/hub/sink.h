// Where a listener's events and counters go. One file each in sinks/; the terminal's are the verbs'
// own.
//
// All calls but state() come on the sink's own thread, one after the other. A failure is counted
// and shown; the sink is called again with the next batch and may recover.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "hub/block.h"
#include "hub/counter.h"

namespace clrscope::hub {

// How a listener fared.
struct SessionSummary {
  std::uint64_t events = 0;    // handed to its sink
  std::uint64_t counters = 0;  // values, likewise
  std::uint64_t dropped = 0;   // events that came faster than the sink took them
  std::uint64_t lost = 0;      // events that the runtimes lost before they came to us
  std::uint64_t left_out = 0;  // counter values of series beyond the limit (series_limit.h)
  std::uint64_t failures = 0;  // calls of the sink that failed
  std::string last_failure{};
  std::vector<std::string> notices{};  // what else its owner should know, each once (on_notice)
  std::chrono::nanoseconds lag{};      // how old the newest event was when its sink took it
  std::string state{};                 // what the sink says of itself
  std::optional<std::uint64_t> delivered{};  // what its peer took, where it has one
};

enum class SourceChange : std::uint8_t { kCame, kGone };

class Sink {
 public:
  virtual ~Sink() = default;
  virtual Result<> open() { return {}; }
  virtual Result<> on_source(const SourceInfo& source, SourceChange change) {
    (void)source, (void)change;
    return {};
  }
  virtual Result<> on_batch(const Batch& batch) {
    (void)batch;
    return {};
  }
  virtual Result<> on_counters(std::span<const CounterValue> values) {
    (void)values;
    return {};
  }
  // Told so many events are missing before the next batch.
  virtual Result<> on_dropped(std::uint64_t events) {
    (void)events;
    return {};
  }
  // Something its owner should know, told once: such as that series are left out.
  virtual Result<> on_notice(const std::string& text) {
    (void)text;
    return {};
  }
  // About once a second, also when nothing comes.
  virtual Result<> on_tick() { return {}; }
  // Any thread, at any time: what people may want to know of it: "listens on 127.0.0.1:52325".
  virtual std::string state() const { return {}; }
  // Likewise, of a sink that sends to a peer: how much the peer took.
  virtual std::optional<std::uint64_t> delivered() const { return {}; }
  virtual Result<> close(const SessionSummary& summary) {
    (void)summary;
    return {};
  }
};

}  // namespace clrscope::hub
