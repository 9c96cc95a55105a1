// Calls to the outside in a trace (database commands, HTTP requests, look-ups of names): the event
// that begins one and the event that ends it, brought together by their activity.
//
// What is kept grows with distinct commands and places, and with calls that are under way.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analyze/sites.h"
#include "analyze/trace_span.h"
#include "nettrace/payload.h"

namespace clrscope::analyze {

// What an event means for a kind of call.
struct CallEvent {
  enum class Phase { kNone, kBegin, kEnd, kFailed };
  Phase phase = Phase::kNone;
  std::string what{};  // of the beginning: the command, the address
};
using ReadCall = CallEvent (*)(const Event& event, const nettrace::PayloadPlan& plan);

class Calls {
 public:
  struct Times {
    std::uint64_t count = 0;
    std::uint64_t failed = 0;      // of them
    std::uint64_t unfinished = 0;  // of them: under way when the trace ended, their time so far
    std::chrono::nanoseconds total{};
    std::chrono::nanoseconds longest{};

    void add(std::chrono::nanoseconds time);
    void add(const Times& more);
  };
  struct Command {
    Times times{};
    std::map<FrameId, Times> callers{};
  };
  using Named = std::pair<const std::string, Command>;

  // `provider`: whose events these are.
  Calls(std::string_view provider, ReadCall read) : provider_(provider), read_(read) {}

  void on_batch(const nettrace::Reader& reader, const nettrace::Batch& batch);
  void end_of_trace(const nettrace::Reader& reader);

  const Times& all() const { return all_; }
  std::vector<const Named*> ranked() const;  // most time first
  const Frame& frame(FrameId id) const { return frames_.frame(id); }
  const TraceSpan& span() const { return span_; }

 private:
  struct Key {
    ProcessId process;
    std::array<std::uint8_t, 16> activity;
    ThreadId thread;  // where there is no activity
    friend auto operator<=>(const Key&, const Key&) = default;
  };
  // A trace tells thread by thread: the end of a call may come before its beginning.
  struct Open {
    std::optional<TraceTime> begin{};
    std::optional<TraceTime> end{};
    bool failed = false;
    std::string what{};
    StackId stack = StackId::kNone;
  };
  struct Trace {
    Trace(FrameTable& frames, std::uint32_t pointer_size) : sites(frames), plans(pointer_size) {}
    Providers providers;
    Sites sites;
    nettrace::PayloadPlans plans;
    std::map<Key, Open> open;
    std::map<std::pair<std::string, StackId>, Times> by_stack;
    TraceTime last = TraceTime::min();
  };
  void on_event(const nettrace::Reader& reader, const Event& event);
  void settle(const Open& call);

  std::string_view provider_;
  ReadCall read_;
  FrameTable frames_;
  std::optional<Trace> trace_;
  std::map<std::string, Command> commands_;
  Times all_;
  TraceSpan span_;
};

// The value of a text field; empty where there is none.
std::string text_field(const Event& event, const nettrace::PayloadPlan& plan,
                       std::string_view name);

}  // namespace clrscope::analyze
