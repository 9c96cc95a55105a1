// What the kernel's records become in a trace: samples with their stacks unwound, waits, processes,
// mappings, and the names of native code that was seen.
//
// Belongs to the thread of its Writer. The copied stacks are dropped here.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/result.h"
#include "collect/machine/kernel_names.h"
#include "collect/machine/machine_recorder.h"
#include "collect/machine/name_store.h"
#include "collect/machine/processes.h"
#include "collect/machine/universal.h"
#include "collect/perf/perf_attr.h"
#include "collect/perf/record.h"
#include "collect/perf/snapshot.h"
#include "unwind/code_map.h"

namespace clrscope::collect {

class KernelEvents {
 public:
  // What the samples of an event mean, by their index in the session's request.
  enum class Role { kCpu, kSwitchOut, kAsked };

  struct Settings {
    std::string symbol_folder{};
    bool kernel_names = true;  // of kernel functions
    std::vector<Role> roles{};
    WaitDetail waits = WaitDetail::kNone;
    bool image_lines = false;                     // what the lines of precompiled code are found by
    std::function<void(ProcessId)> on_runtime{};  // one begins to load; may be empty
    FindMethod find_method{};  // of processes that do not tell theirs; may be empty
    FindMethod find_lambda{};  // compiled expressions of the others; may be empty
    FindMethod find_helper{};  // nameless functions of a runtime, by their start; may be empty
  };
  KernelEvents(nettrace::Writer& writer, Settings settings);

  // The session as it was opened, in the order of the roles; lives as long as this.
  void describe(std::span<const perf::ResolvedEvent> events);
  // Reads now what the kernel's functions are called, which takes a tenth of a second, instead of
  // when the first name is wanted.
  void read_kernel_names() { (void)kernel_names(); }
  // Nothing is dated before it.
  void start(TraceTime time) { started_ = time; }
  void process_exists(const perf::ProcessFacts& facts);
  bool knows(ProcessId process) const { return processes_.find(process) != nullptr; }
  void take(const perf::Record& record);
  // What is still told of waits is left out: there are too many.
  void end_waits(TraceTime now, std::uint64_t per_second);
  // A number about a process that the recorder itself knows, for who reads the trace.
  void tell(std::string_view name, TraceTime time, ProcessId process, std::uint64_t value);
  // The recording ended then: threads that wait still. Those of `asked` count also when they did
  // not run at all; where they wait is read from the processes.
  void write_open_waits(TraceTime ended, const std::set<ProcessId>& asked);
  // Work that may wait while the rings fill: stubs that are new, names of what was seen of
  // processes that have ended.
  Result<> catch_up(std::chrono::nanoseconds at_most);
  // All names that are left. Those in `silent` did not tell the names of their methods.
  Result<> write_names(TraceTime now, const std::set<ProcessId>& silent = {});
  // Of what was first seen since the last call; for who reads the trace while it grows.
  Result<> write_new_names(TraceTime now, const std::set<ProcessId>& silent = {});
  // Likewise during the recording, in case we are killed: for so long, the rest in the next calls.
  // True when all that was seen at the first has been named. Dated `time`: nothing earlier may
  // come after.
  Result<bool> write_some_names(TraceTime time, std::chrono::nanoseconds at_most);
  // Addresses met meanwhile that only a runtime can name.
  std::map<ProcessId, std::vector<std::uint64_t>> take_unnamed() {
    return std::exchange(unnamed_, {});
  }
  // An event of this kind is watched for.
  void stop_at(const StoppingEventRequest& request) { universal_.stop_at(request); }
  bool stop_found() const { return universal_.stop_found(); }
  void add_lost(std::uint64_t count) { universal_.add_lost(count); }

  std::uint64_t samples() const { return samples_; }
  std::uint64_t switches() const { return switches_; }
  std::uint64_t asked() const { return asked_; }  // events of --perf-events
  // Stacks that ended before their root, by reason.
  std::vector<std::pair<std::string, std::uint64_t>> broken_stacks() const;
  const std::vector<std::string>& notes() const { return notes_; }
  // The first failure of the writer.
  const std::optional<Error>& error() const { return error_; }

 private:
  struct Waiting {
    ProcessId process;
    TraceTime since;
    std::vector<std::uint64_t> stack;
    bool preempted = false;  // it had not asked to stop
  };

  // What was written of the kernel's names for a process.
  struct KernelTold {
    MappingId mapping = MappingId::kNone;
    std::unordered_set<std::uint64_t> functions{};  // by their start
  };

  // A program that has ended, or became another, with what was seen of it.
  struct Ended {
    std::unique_ptr<TracedProcess> process;
    std::unordered_set<std::uint64_t> kernel;
    KernelTold told;
    TraceTime time;
  };

  void on(const perf::Sample& sample);
  void on_asked(const perf::Sample& sample, std::size_t index);
  void on(const perf::Switch& change);
  void stops_running(const perf::Origin& origin, std::span<const std::uint64_t> stack);
  std::vector<std::uint64_t> stack_now(ProcessId process, ThreadId thread, TraceTime time);
  void on(const perf::Mapping& mapping);
  void on(const perf::ThreadName& name);
  void on(const perf::Task& task);
  void name_thread(ProcessId process, ThreadId thread, std::string name);
  void on(const auto&) {}  // losses are in the set's own count

  std::span<const std::uint64_t> unwound(const perf::Sample& sample);
  unwind::Unwound walk(const perf::Sample& sample, TracedProcess& process);
  bool found_new_mappings(TracedProcess& process, TraceTime now);
  bool append_kernels_walk(const perf::Sample& sample, std::size_t frames, TracedProcess& process);
  void retire(ProcessId process, TraceTime time);
  std::unordered_set<std::uint64_t> take_kernel_seen(ProcessId process);
  TracedProcess::ManagedNames managed_names(ProcessId process,
                                            const std::set<ProcessId>& silent) const;
  Result<> write_symbols(TracedProcess& process, const TracedProcess::ManagedNames& managed,
                         const std::unordered_set<std::uint64_t>& kernel, KernelTold& told,
                         TraceTime time);
  Result<> write_kernel_symbols(ProcessId process, const std::unordered_set<std::uint64_t>& kernel,
                                KernelTold& told, TraceTime time);
  const KernelNames& kernel_names();
  TraceTime time_of(const perf::Origin& origin) const { return std::max(origin.time, started_); }
  void check(Result<> done);

  static constexpr std::size_t kMaxFrames = 512;

  nettrace::Writer& writer_;
  UniversalWriter universal_;
  Settings settings_;
  std::span<const perf::ResolvedEvent> opened_;
  std::vector<const EventType*> types_;  // of tracepoints, as opened_; null: others
  unwind::CodeMap code_;
  NameStore names_;
  ProcessTable processes_;
  std::unordered_map<ThreadId, Waiting> waiting_;
  std::unordered_set<ThreadId> ran_;    // threads that were switched to or from
  std::unordered_set<ThreadId> ended_;  // whose last switch has not been read yet
  std::unordered_map<ThreadId, std::string> thread_names_;  // of those that live
  std::deque<Ended> to_name_;
  std::map<ProcessId, std::unordered_set<std::uint64_t>> kernel_seen_;
  std::unordered_set<std::uint64_t> kernel_told_;   // by write_new_names()
  std::map<ProcessId, KernelTold> kernel_written_;  // by write_some_names()
  std::optional<ProcessId> naming_;                 // whose turn it is there
  std::map<ProcessId, std::vector<std::uint64_t>> unnamed_;
  std::optional<KernelNames> kernel_names_;  // read when first needed
  std::array<unwind::Frame, kMaxFrames> frames_{};
  std::vector<std::uint64_t> stack_;
  ByteWriter payload_;
  TraceTime started_{};
  TraceTime next_look_{};  // at the mappings of any process
  TraceTime next_trim_{};
  std::uint64_t samples_ = 0;
  std::uint64_t switches_ = 0;
  std::uint64_t asked_ = 0;
  std::uint64_t mended_ = 0;  // stacks whose copy was too short, continued by the kernel's walk
  std::vector<std::string> notes_;
  std::optional<Error> error_;
};

}  // namespace clrscope::collect
