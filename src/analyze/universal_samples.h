// The samples of Universal.Events ("cpu" and "cswitch"), counted by thread and stack while a trace
// is read, named when it ends: what the reports on processor time and on waiting share.
//
// Memory grows with distinct stacks of threads, not with samples.
#pragma once

#include <deque>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "analyze/clr_waits.h"
#include "analyze/samples.h"
#include "analyze/stacks.h"
#include "analyze/symbolizer.h"
#include "analyze/trace_span.h"

namespace clrscope::analyze {

enum class Sampled : std::uint8_t {
  kCpu,     // a thread was running
  kSwitch,  // a thread runs again: its stack is where it had stopped, the value for how long (ns)
};
enum class Wanted : std::uint8_t { kCpu, kSwitches, kBoth };

struct SampledThread {
  ProcessId process{};
  ThreadId thread{};
  std::size_t trace = 0;  // the same numbers in two traces are two threads
  std::string name{};
  std::string process_name{};
};

// All samples of one thread that had one stack and the same fate.
struct StackSamples {
  Sampled what{};
  ClrWait told{};            // by the runtime, of a switch
  bool preempted = false;    // it would have run on: likewise
  bool unfinished = false;   // it had not run again when the recording ended: likewise
  std::uint32_t thread = 0;  // index into threads()
  StackId stack{};
  std::uint64_t count = 0;
  std::uint64_t value = 0;    // sum: ns that samples stand for, or that threads were off
  std::uint64_t longest = 0;  // value
  TraceTime longest_at{};     // when it ended
};

class UniversalSamples {
 public:
  UniversalSamples(FrameTable& frames, Wanted wanted) : frames_(frames), wanted_(wanted) {}

  void on_batch(const nettrace::Reader& reader, const nettrace::Batch& batch);

  // Hands over what the trace held. Frames are leaf first, empty when there was no stack.
  using OnStack = std::function<void(const StackSamples&, std::span<const FrameId> frames)>;
  void end_of_trace(const nettrace::Reader& reader, const OnStack& on_stack);

  const std::vector<SampledThread>& threads() const { return threads_; }
  std::uint64_t cpu_samples() const { return cpu_samples_; }  // of all traces, so far
  std::uint64_t switches() const { return switches_; }
  bool by_agent() const { return by_agent_; }  // the agent took the cpu samples of a process
  // What one cpu sample stands for, usually; 0 when the traces do not say.
  std::chrono::nanoseconds period() const { return period_; }
  const TraceSpan& span() const { return span_; }
  // Where the recorder left waits out after a while, because threads switched so often.
  struct WaitsEnded {
    std::chrono::nanoseconds recorded{};
    std::uint64_t per_second = 0;
  };
  const std::optional<WaitsEnded>& waits_ended() const { return waits_ended_; }

 private:
  struct Switch {
    TraceTime time;
    std::uint64_t value;
    ProcessId process;
    ThreadId thread;
    std::uint32_t index;  // of the thread
    StackId stack;
    bool preempted;
    bool unfinished;
  };
  struct Trace {  // what belongs to the one being read
    explicit Trace(FrameTable& frames) : symbols(frames) {}
    Providers providers;
    Stacks stacks;
    Symbolizer symbols;
    std::vector<StackSamples> rows;
    ClrWaits waits;
    std::deque<Switch> switches;  // whose reason may still be to come
    TraceTime newest = TraceTime::min();
    // By what is counted; thread and stack: index.
    std::unordered_map<std::uint64_t, std::uint32_t> row_of[1 + 4 * kClrWaits];
    std::unordered_map<std::uint64_t, std::uint32_t> thread_of;  // process and thread: index
    std::unordered_map<ProcessId, std::string> names;            // as the kernel has them
    std::unordered_map<ProcessId, std::string> command_names;    // better: as the runtime says
  };
  void count(const nettrace::Reader& reader, const Event& event, Sampled what);
  void on_waits_ended(const nettrace::Reader& reader, const Event& event);
  void settle(TraceTime up_to);
  StackSamples& row(std::size_t kind, const StackSamples& like);
  std::uint32_t thread_index(const Event& event);

  FrameTable& frames_;
  Wanted wanted_;
  std::optional<Trace> trace_;
  std::size_t traces_ = 0;
  std::vector<SampledThread> threads_;
  std::uint64_t cpu_samples_ = 0, switches_ = 0;
  bool by_agent_ = false;
  std::chrono::nanoseconds period_{};
  TraceSpan span_;
  std::optional<WaitsEnded> waits_ended_;
};

// "Shop (4312)", or "4312".
std::string process_text(const SampledThread& thread);

}  // namespace clrscope::analyze
