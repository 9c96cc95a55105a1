// What a recorder stopped recording because it cost the program too much, and only counted from
// then on: the marks of Universal.Events that say so (docs/formats/nettrace.md).
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string_view>

#include "analyze/durations.h"
#include "base/bytes.h"
#include "nettrace/reader.h"

namespace clrscope::analyze {

class OnlyCounted {
 public:
  // "exceptions": the marks are exceptions_counting (from here on), exceptions_counted (so many
  // more) and exceptions_ended (no more of them are recorded).
  explicit OnlyCounted(std::string_view what) : what_(what) {}

  // Of Universal.Events. True at the mark of the end, of the event's process.
  bool on_event(const nettrace::Reader& reader, const Event& event) {
    const std::string_view name = event.type->name;
    if (!name.starts_with(what_)) return false;
    ByteReader in{event.payload};
    const auto value = in.read_varuint();
    if (!in.ok()) return false;
    const auto mark = name.substr(what_.size());
    if (mark == "_counting") since_[event.process] = event.time;
    if (!reader.info()) return false;
    const auto passed = between(reader.info()->begin(), event.time);
    if (mark == "_counted") {
      counted_ += value;
      counted_for_ = passed;
    }
    if (mark != "_ended") return false;
    recorded_ = passed;
    return true;
  }

  // One was recorded: for a moment they are counted too.
  void on_recorded(const Event& event) {
    if (since_.empty()) return;
    if (const auto of = since_.find(event.process); of != since_.end() && event.time >= of->second)
      ++twice_;
  }
  void end_of_trace() { since_.clear(); }

  // Besides those that were recorded.
  std::uint64_t count() const { return counted_ - std::min(counted_, twice_); }
  // Until then they were recorded, in the process where they ended last; nothing: to the end.
  std::optional<std::chrono::nanoseconds> recorded() const { return recorded_; }
  // The counters tell once a second, so that the last moments are not counted. Nothing: none is.
  std::optional<std::chrono::nanoseconds> counted_for() const { return counted_for_; }

 private:
  std::string_view what_;
  std::map<ProcessId, TraceTime> since_;
  std::uint64_t counted_ = 0, twice_ = 0;
  std::optional<std::chrono::nanoseconds> recorded_;
  std::optional<std::chrono::nanoseconds> counted_for_;
};

}  // namespace clrscope::analyze
