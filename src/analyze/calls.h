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

#include "analyze/provider_reader.h"

namespace clrscope::analyze {

// What an event means for a kind of call.
struct CallEvent {
  enum class Phase { kNone, kBegin, kEnd, kFailed };
  Phase phase = Phase::kNone;
  std::string what{};  // of the beginning: the command, the address
};
using ReadCall = CallEvent (*)(const Event& event, const nettrace::PayloadPlan& plan);

struct OpenCalls {
  struct Key {
    ProcessId process;
    std::array<std::uint8_t, 16> activity;
    ThreadId thread;  // where there is no activity
    friend auto operator<=>(const Key&, const Key&) = default;
  };
  // A trace tells thread by thread: the end of a call may come before its beginning.
  struct Call {
    std::optional<TraceTime> begin{};
    std::optional<TraceTime> end{};
    bool failed = false;
    std::string what{};
    StackId stack = StackId::kNone;
  };
  std::map<Key, Call> open;
  std::map<std::pair<std::string, StackId>, OutcomeTimes> by_stack;
};

class Calls : public ProviderReader<OpenCalls> {
 public:
  struct Command {
    OutcomeTimes times{};
    std::map<FrameId, OutcomeTimes> callers{};
  };
  using Named = std::pair<const std::string, Command>;

  // `provider`: whose events these are.
  Calls(std::string_view provider, ReadCall read) : ProviderReader(provider), read_(read) {}

  void on_batch(const nettrace::Reader& reader, const nettrace::Batch& batch) {
    read_batch(reader, batch, [&](const Event& event) { on_event(reader, event); });
  }
  void end_of_trace(const nettrace::Reader& reader);

  const OutcomeTimes& all() const { return all_; }
  std::vector<const Named*> ranked() const;  // most time first

 private:
  void on_event(const nettrace::Reader& reader, const Event& event);
  void settle(const OpenCalls::Call& call);

  ReadCall read_;
  std::map<std::string, Command> commands_;
  OutcomeTimes all_;
};

}  // namespace clrscope::analyze
