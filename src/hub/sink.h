// Where a listener's events and counters go. One file each in sinks/; the terminal's are the verbs'
// own.
//
// All calls come on the sink's own thread, one after the other. A failure is counted and shown; the
// sink is called again with the next batch and may recover.
#pragma once

#include <cstdint>
#include <span>
#include <string>

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
  std::uint64_t failures = 0;  // calls of the sink that failed
  std::string last_failure{};
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
  // About once a second, also when nothing comes.
  virtual Result<> on_tick() { return {}; }
  virtual Result<> close(const SessionSummary& summary) {
    (void)summary;
    return {};
  }
};

}  // namespace clrscope::hub
