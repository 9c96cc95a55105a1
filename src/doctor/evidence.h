// What a diagnosis is based on: facts of the process, snapshots of its threads and locks, events
// of its runtime, samples of its CPU time.
//
// Data only; ops/examine.h gathers it. What could not be had is empty, and said in `missing`. A
// finding reads it and nothing else, so that a test can make evidence by hand.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "analyze/heap/finalizers.h"
#include "analyze/heap/growth.h"
#include "inspect/async/async.h"
#include "inspect/snapshot.h"
#include "model/program_cost.h"

namespace clrscope::doctor {

// It stood still the whole time, for the kernel or for a debugger.
struct Standstill {
  pid_t tracer = 0;  // who holds it; 0: a signal stopped it
  std::string tracer_name{};
};

// How and where the process runs.
struct ProcessFacts {
  pid_t pid = 0;
  std::string name{};
  std::string runtime{};  // "10.0.12"; empty: unknown
  std::chrono::nanoseconds up{};
  std::optional<double> processors{};           // it may use, by affinity and quota
  std::optional<std::uint64_t> memory_limit{};  // bytes, of its cgroup; nothing: the machine's
  bool few_by_cgroup = false;                   // processors: fewer than the machine's by a quota
  std::optional<std::uint64_t> rss_bytes{};
  std::optional<std::uint32_t> server_gc_threads{};     // 0: workstation GC
  std::map<std::string, std::string> environment{};     // DOTNET_… and COMPlus_… only
  std::map<std::string, std::string> runtime_config{};  // properties of *.runtimeconfig.json
  std::vector<std::string> debug_assemblies{};          // its own, compiled without optimization
  bool web_server = false;                              // has loaded Kestrel, the server of ASP.NET
  bool database_client = false;                         // has loaded EF Core or SqlClient
  std::optional<bool> listens{};                        // accepts connections; nothing: unknown
};

struct Place {  // in the code
  std::string method{};
  std::string module{};
  std::uint64_t count = 0;
};

struct ThrownType {
  std::string type{};
  std::uint64_t count = 0;
  std::string message{};        // of the first
  std::vector<Place> places{};  // most first
};

struct GcFact {
  std::uint32_t number = 0;
  std::uint32_t generation = 0;
  std::string reason{};
  bool induced = false;
  bool background = false;
  std::chrono::nanoseconds pause{};          // all of its pauses
  std::chrono::nanoseconds longest_pause{};  // of them
  std::uint64_t heap_bytes = 0;              // after it; 0: unknown
  std::chrono::nanoseconds start{};          // since the recording's beginning
  std::uint64_t handles = 0;                 // of the GC, all kinds
  std::uint64_t pinned_objects = 0;          // that it met
  std::uint64_t finalizable = 0;             // kept alive because their finalizers have yet to run
};

struct LockPlace {  // where threads waited for locks
  std::string method{};
  std::string module{};
  std::uint64_t waits = 0;
  std::uint64_t unfinished = 0;
  std::chrono::nanoseconds waited{};
  std::chrono::nanoseconds longest{};
  std::vector<std::uint64_t> owners{};  // OS ids of threads that held the lock meanwhile
};

struct PoolEvents {
  std::uint32_t most_workers = 0;
  std::uint32_t first_workers = 0, last_workers = 0;
  std::uint64_t starvations = 0;  // a worker was added because queued work did not move
  std::uint64_t blockings = 0;    // … because pool threads block on tasks
};

// An EventCounter during the recording: a value for each interval.
struct CounterFact {
  std::vector<double> values{};  // a rate: per second
  std::uint64_t count = 0;       // of means: what they were made of
  double sum = 0;                // likewise

  double first() const { return values.empty() ? 0 : values.front(); }
  double last() const { return values.empty() ? 0 : values.back(); }
};

// What the runtime told during one session.
struct EventFacts {
  std::chrono::nanoseconds length{};
  std::uint64_t lost = 0;
  std::uint64_t exceptions = 0;  // all: types and places are of the first of them
  std::optional<std::chrono::nanoseconds> exceptions_counted{};   // for so long; nothing: always
  std::optional<std::chrono::nanoseconds> exceptions_recorded{};  // for so long; nothing: always
  std::vector<ThrownType> thrown{};                               // most first
  std::vector<GcFact> collections{};
  std::chrono::nanoseconds gc_paused{};
  std::uint64_t lock_waits = 0;                              // all
  std::optional<std::chrono::nanoseconds> locks_recorded{};  // for so long; nothing: always
  std::vector<LockPlace> locks{};                            // longest time waited first
  PoolEvents pool{};
  std::map<std::string, CounterFact> counters{};  // "System.Runtime/alloc-rate"

  const CounterFact* counter(const std::string& name) const {
    const auto at = counters.find(name);
    return at == counters.end() || at->second.values.empty() ? nullptr : &at->second;
  }
  double seconds() const { return std::chrono::duration<double>(length).count(); }
};

struct CpuMethod {
  std::string method{};
  std::string module{};
  double self = 0;  // share of all samples, 0 to 1; native code that it calls is its own
  double total = 0;
  bool own = false;  // of the application's own modules
};
struct CpuThread {
  std::uint64_t os_id = 0;
  std::string name{};
  double share = 0;  // of all samples
  CpuMethod top{};   // the innermost of its application's methods seen most; shares of its samples
};
// Samples of running threads.
struct CpuFacts {
  bool by_kernel = false;  // else by the runtime's sampler, which sees managed threads only
  std::uint64_t samples = 0;
  std::chrono::nanoseconds length{};
  double busy = 0;                    // processors, on average; 0: unknown
  std::vector<CpuMethod> methods{};   // the application's and the framework's, most self first
  std::vector<CpuMethod> hot_path{};  // where the first of them was seen most, innermost first
  std::uint64_t hot_thread = 0;       // that had this stack most
  std::string hot_thread_name{};
  std::vector<CpuThread> threads{};  // most first
};

// Memory in use at one moment.
struct MemoryUse {
  std::chrono::nanoseconds time{};  // since the first snapshot
  std::uint64_t rss = 0;            // of the process
  std::uint64_t anonymous = 0;      // of it: not of files
  std::uint64_t group = 0;          // of its cgroup, without what is easily freed; 0: unknown
};

// Looks at the heap from frozen copies of the process.
struct HeapFacts {
  std::size_t looks = 0;
  std::chrono::nanoseconds paused{};  // by all of them
  std::uint64_t objects = 0;          // in use at the last look
  std::uint64_t bytes = 0;
  std::vector<analyze::GrowingType> growing{};    // most bytes first
  std::vector<analyze::HeapStringRow> strings{};  // of the last look, most wasted bytes first
  std::uint64_t wasted_by_strings = 0;
  std::vector<analyze::FinalizerLook> finalizers{};  // one for each look that could tell
};

// Calls to one address, or look-ups of one name.
struct CallPlace {
  std::string what{};
  std::uint64_t calls = 0;
  std::uint64_t failed = 0;      // of them
  std::uint64_t unfinished = 0;  // of them: their time so far
  std::chrono::nanoseconds total{};
  std::chrono::nanoseconds longest{};
  std::vector<Place> callers{};  // most time first

  std::chrono::nanoseconds mean() const {
    return calls == 0 ? total : total / static_cast<std::int64_t>(calls);
  }
};
// What sessions beside the recording saw of events that may be many. Each ends when it has cost the
// process enough: then it is only a sample of what happened.
struct CallFacts {
  std::chrono::nanoseconds length{};  // of the session
  bool cut = false;                   // it ended before the watching did
  std::vector<CallPlace> http{};      // most time first
  std::vector<CallPlace> dns{};
};
struct RepeatedCommand {
  std::string text{};       // without literals
  Place caller{};           // with the number of all its commands
  std::uint64_t units = 0;  // of work that sent it: requests, DbContexts
  std::uint64_t most = 0;   // in quick succession in one of them
};
struct CommandFacts {
  std::chrono::nanoseconds length{};
  bool cut = false;
  std::vector<RepeatedCommand> repeated{};  // most first
};
struct AllocationPlace {
  std::string type{};
  std::string method{};
  std::string module{};
  double share = 0;  // of all sampled bytes, 0 to 1
};
struct AllocationFacts {
  std::chrono::nanoseconds length{};
  bool cut = false;
  std::uint64_t samples = 0;
  double bytes_per_second = 0;            // by the samples
  std::vector<AllocationPlace> places{};  // most bytes first
  std::map<std::string, double> types{};  // with their shares
};

// What an agent in the process told of one type of exception, one lock or one allocated type.
struct AgentPlace {
  std::string what{};    // the type, or the method that wanted a lock
  std::string method{};  // that caught it, or that allocates it
  std::uint64_t count = 0;
  std::uint64_t caught = 0;
  std::uint64_t bytes = 0;
  std::chrono::nanoseconds mean{};     // from throw to catch
  std::chrono::nanoseconds longest{};  // likewise, or the longest wait
  std::uint32_t owner = 0;             // OS id of the thread that had the lock most often
  std::vector<std::string> stack{};    // innermost first
};
struct AgentFacts {
  std::chrono::nanoseconds length{};
  std::chrono::nanoseconds callback_time{};  // what it cost
  std::vector<AgentPlace> exceptions{}, locks{}, allocations{};
};

struct Evidence {
  ProcessFacts process{};
  bool live = true;                    // else a core
  std::chrono::nanoseconds watched{};  // from the first snapshot to the last
  std::vector<inspect::Snapshot> snapshots{};
  std::vector<std::chrono::nanoseconds> snapshot_times{};  // since the first; as snapshots
  // Async methods that have not finished: at the beginning, and at the end compared with that.
  std::vector<inspect::AsyncSnapshot> async{};
  std::vector<MemoryUse> memory{};  // about one a second
  std::optional<EventFacts> events{};
  std::optional<CpuFacts> cpu{};
  std::optional<HeapFacts> heap{};
  std::optional<CallFacts> calls{};
  std::optional<CommandFacts> commands{};
  std::optional<AllocationFacts> allocations{};
  std::optional<AgentFacts> agent{};  // only if one was loaded already
  // When frozen copies of it were made, since the first snapshot: each stopped all threads.
  std::vector<std::chrono::nanoseconds> copies{};
  std::optional<Standstill> standstill{};
  std::chrono::nanoseconds
      silent{};  // its runtime was asked for events and said nothing for so long
  // Why a source is not there, with the remedy; empty: it was not asked for.
  std::string no_snapshots{}, no_events{}, no_cpu{}, no_heap{}, no_async{};
  std::string no_calls{}, no_commands{}, no_allocations{};
  std::string no_proc{};  // why neither its state nor its files can be seen; empty: they can
  std::vector<std::string> notes{};
  std::optional<ProgramCost> cost{};

  const inspect::Snapshot* last_snapshot() const {
    return snapshots.empty() ? nullptr : &snapshots.back();
  }
  double watched_seconds() const { return std::chrono::duration<double>(watched).count(); }
};

}  // namespace clrscope::doctor
