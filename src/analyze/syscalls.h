// System calls: how many, how long, what came of them and from where, by the tracepoints
// raw_syscalls:sys_enter and sys_exit of "Linux.Events".
//
// A call is paired with its return by thread and time. The two may come from different CPUs and out
// of order, so events are held until a sequence point, a million of them at most.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "analyze/providers.h"
#include "analyze/stacks.h"
#include "analyze/symbolizer.h"
#include "nettrace/payload.h"
#include "nettrace/reader.h"

namespace clrscope::analyze {

struct SyscallPlace {
  FrameId site{};                 // the first method of the application, else the first with a name
  std::vector<FrameId> frames{};  // of its heaviest stack, leaf first
  std::uint64_t count = 0;
  std::uint64_t ns = 0;
  std::uint64_t heaviest = 0;
};

struct SyscallRow {
  ProcessId process{};
  std::string process_name{};
  std::string name{};
  std::uint64_t count = 0;    // seen, whether begun or ended in the recording
  std::uint64_t timed = 0;    // of them: begun and ended in it
  std::uint64_t unended = 0;  // of them: not ended in it
  std::uint64_t errors = 0;
  std::uint64_t ns = 0;
  std::uint64_t longest_ns = 0;
  std::map<int, std::uint64_t> by_errno{};
  std::vector<SyscallPlace> places{};  // most time first
};

class Syscalls {
 public:
  void on_batch(const nettrace::Reader& reader, const nettrace::Batch& batch);
  void end_of_trace(const nettrace::Reader& reader);

  const std::vector<SyscallRow>& rows() const { return rows_; }  // most time first
  const Frame& frame(FrameId id) const { return frames_.frame(id); }

 private:
  enum class Edge : std::uint8_t { kUnseen, kNone, kEnter, kExit };
  struct Seen {
    TraceTime time;
    ThreadId thread;
    ProcessId process;
    StringId name;
    StackId stack;
    std::int64_t result;
    Edge edge;
  };
  struct Open {
    TraceTime since;
    std::size_t row;
    StackId stack;
    StringId name;
  };
  struct Sum {
    std::uint64_t count = 0, ns = 0;
  };
  struct Trace {
    Trace(FrameTable& frames, std::uint32_t pointer_size) : symbols(frames), plans(pointer_size) {}
    Providers providers;
    Stacks stacks;
    Symbolizer symbols;
    nettrace::PayloadPlans plans;
    std::vector<Edge> edges;  // by EventType::index
    std::vector<Seen> held;
    std::unordered_map<std::uint64_t, Open> open;  // by thread
    std::map<std::pair<ProcessId, StringId>, std::size_t> row_of;
    std::map<std::pair<std::size_t, StackId>, Sum> by_stack;  // of a row
    std::map<ProcessId, std::string> names;
  };

  Edge edge_of(const EventType& type);
  void hold(const nettrace::Reader& reader, const Event& event, Edge edge);
  void pair_held(std::size_t keep);
  void on_enter(const Seen& seen);
  void on_exit(const Seen& seen);
  std::size_t row_of(const Seen& seen);
  void add_places();

  FrameTable frames_;
  StringTable strings_;
  std::optional<Trace> trace_;
  std::vector<SyscallRow> rows_;
};

// "EAGAIN" for 11; the number when it has no name.
std::string errno_name(int number);

}  // namespace clrscope::analyze
