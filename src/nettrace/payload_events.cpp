#include "nettrace/payload_events.h"
#include "model/provider_names.h"

#include <algorithm>

namespace clrscope::nettrace {
namespace {

struct Entry {
  std::uint32_t id;
  Known known;
};

constexpr Entry kRuntime[] = {
    {1, Known::kGcStart},
    {2, Known::kGcEnd},
    {3, Known::kGcRestartEnd},
    {4, Known::kGcHeapStats},
    {7, Known::kGcRestartBegin},
    {8, Known::kGcSuspendEnd},
    {9, Known::kGcSuspendBegin},
    {10, Known::kAllocationTick},
    {35, Known::kGcTriggered},
    {39, Known::kGcDynamic},
    {44, Known::kIoThreadCreate},
    {45, Known::kIoThreadTerminate},
    {50, Known::kWorkerStart},
    {51, Known::kWorkerStop},
    {54, Known::kWorkerSample},
    {55, Known::kWorkerAdjustment},
    {57, Known::kWorkerWait},
    {59, Known::kPoolMinMax},
    {61, Known::kPoolEnqueue},
    {62, Known::kPoolDequeue},
    {70, Known::kThreadCreating},
    {71, Known::kThreadRunning},
    {80, Known::kException},
    {81, Known::kContentionStart},
    {90, Known::kLockCreated},
    {91, Known::kContentionStop},
    {141, Known::kMethodLoad},
    {142, Known::kMethodUnload},
    {143, Known::kMethodLoad},
    {144, Known::kMethodUnload},
    {145, Known::kMethodJittingStarted},
    {152, Known::kModuleLoad},
    {153, Known::kModuleUnload},
    {159, Known::kR2RGetEntryPoint},
    {205, Known::kGcGlobalHistory},
    {301, Known::kWaitStart},
    {302, Known::kWaitStop},
    {303, Known::kAllocationSampled},
};
constexpr Entry kRundown[] = {
    {141, Known::kMethodRundown}, {142, Known::kMethodRundown}, {143, Known::kMethodRundown},
    {144, Known::kMethodRundown}, {153, Known::kModuleRundown}, {154, Known::kModuleRundown},
};
constexpr Entry kFramework[] = {{30, Known::kPoolEnqueue}, {31, Known::kPoolDequeue}};
constexpr Entry kTasks[] = {
    {7, Known::kTaskScheduled},  {8, Known::kTaskStart},    {9, Known::kTaskStop},
    {10, Known::kTaskWaitBegin}, {11, Known::kTaskWaitEnd}, {12, Known::kTaskContinuation},
};

template <std::size_t N>
Known find(const Entry (&entries)[N], std::uint32_t id) {
  for (const auto& entry : entries)
    if (entry.id == id) return entry.known;
  return Known::kNone;
}

class Input {
 public:
  Input(Bytes payload, std::uint32_t pointer_size) : in_(payload), pointer_size_(pointer_size) {}

  template <class... T>
  void read(T&... out) {
    ((out = in_.read<T>()), ...);
  }
  void pointer(std::uint64_t& out) {
    out = pointer_size_ == 4 ? in_.read<std::uint32_t>() : in_.read<std::uint64_t>();
  }
  void text(Bytes& out) { out = in_.take_utf16z(); }
  void skip(std::size_t bytes) { in_.skip(bytes); }
  Bytes take(std::size_t bytes) { return in_.take(bytes); }
  bool ok() const { return in_.ok(); }

 private:
  ByteReader in_;
  std::uint32_t pointer_size_;
};

constexpr std::size_t kInstance = 2;  // bytes of ClrInstanceID

void parse(Input& in, const EventType& type, GcStart& e) {
  if (type.version == 0) return in.read(e.number, e.reason);
  in.read(e.number, e.generation, e.reason, e.type);
  if (type.version < 2) return;
  in.skip(kInstance);
  in.read(e.client_sequence);
}

void parse(Input& in, const EventType& type, GcEnd& e) {
  in.read(e.number);
  std::uint16_t narrow = 0;
  if (type.version == 0) {
    in.read(narrow);
    e.generation = narrow;
  } else {
    in.read(e.generation);
  }
}

void parse(Input& in, const EventType& type, GcSuspend& e) {
  std::uint16_t narrow = 0;
  if (type.version == 0) {
    in.read(narrow);
    e.reason = narrow;
  } else {
    in.read(e.reason, e.gc_number);
  }
}

void parse(Input& in, const EventType& type, GcHeapStats& e) {
  for (std::size_t i = 0; i < 4; ++i) in.read(e.size[i], e.promoted[i]);
  in.read(e.finalization_promoted_bytes, e.finalization_promoted_count);
  in.read(e.pinned_objects, e.sink_blocks, e.handles);
  if (type.version < 2) return;
  in.skip(kInstance);
  in.read(e.size[4], e.promoted[4]);
}

void parse(Input& in, const EventType&, GcTriggered& e) { in.read(e.reason); }

void parse(Input& in, const EventType&, GcGlobalHistory& e) {
  in.read(e.final_youngest_desired, e.heaps, e.condemned_generation, e.gen0_reductions, e.reason,
          e.mechanisms);
  in.skip(kInstance);
  in.read(e.pause_mode, e.memory_pressure);
}

void parse(Input& in, const EventType&, GcDynamic& e) {
  std::uint32_t size = 0;
  in.text(e.name);
  in.read(size);
  e.data = in.take(size);
}

void parse(Input& in, const EventType& type, AllocationTick& e) {
  std::uint32_t amount = 0;
  in.read(amount, e.kind);
  e.amount = amount;
  if (type.version < 2) return;
  in.skip(kInstance);
  in.read(e.amount);
  in.pointer(e.type_id);
  in.text(e.type_name);
  in.read(e.heap);
  if (type.version >= 3) in.pointer(e.address);
  if (type.version >= 4) in.read(e.object_size);
}

void parse(Input& in, const EventType&, AllocationSampled& e) {
  in.read(e.kind);
  in.skip(kInstance);
  in.pointer(e.type_id);
  in.text(e.type_name);
  in.pointer(e.address);
  in.read(e.object_size, e.sampled_offset);
}

void parse(Input& in, const EventType& type, MethodEvent& e) {
  in.read(e.method, e.module, e.start, e.size, e.token, e.flags);
  if (type.id >= 143) {
    in.text(e.name_space);
    in.text(e.name);
    in.text(e.signature);
  }
  if (type.version < 2) return;
  in.skip(kInstance);
  in.read(e.rejit);
}

void parse(Input& in, const EventType&, MethodJittingStarted& e) {
  in.read(e.method, e.module, e.token, e.il_size);
  in.text(e.name_space);
  in.text(e.name);
  in.text(e.signature);
}

void parse(Input& in, const EventType&, R2RGetEntryPoint& e) {
  in.read(e.method);
  in.text(e.name_space);
  in.text(e.name);
  in.text(e.signature);
  in.read(e.entry);
}

void parse(Input& in, const EventType& type, ModuleEvent& e) {
  std::uint32_t reserved = 0;
  in.read(e.module, e.assembly, e.flags, reserved);
  in.text(e.il_path);
  in.text(e.native_path);
  if (type.version < 2) return;
  in.skip(kInstance);
  in.read(e.pdb_signature, e.pdb_age);
  in.text(e.pdb_path);
}

void parse(Input& in, const EventType& type, ExceptionThrown& e) {
  if (type.version == 0) return;
  in.text(e.type);
  in.text(e.message);
  in.pointer(e.ip);
  in.read(e.hresult, e.flags);
}

void parse(Input& in, const EventType& type, ContentionStart& e) {
  if (type.version == 0) return;
  in.read(e.flags);
  if (type.version < 2) return;
  in.skip(kInstance);
  in.pointer(e.lock);
  in.pointer(e.object);
  in.read(e.owner_thread);
}

void parse(Input& in, const EventType& type, ContentionStop& e) {
  in.read(e.flags);
  if (type.version < 1) return;
  in.skip(kInstance);
  in.read(e.duration_ns);
}

void parse(Input& in, const EventType&, LockCreated& e) {
  in.pointer(e.lock);
  in.pointer(e.object);
}

void parse(Input& in, const EventType&, WaitStart& e) {
  in.read(e.source);
  in.pointer(e.object);
}

void parse(Input& in, const EventType&, ThreadPoolWorker& e) { in.read(e.active, e.retired); }

void parse(Input& in, const EventType&, WorkerAdjustment& e) {
  in.read(e.average_throughput, e.threads, e.reason);
}

void parse(Input& in, const EventType&, WorkerSample& e) { in.read(e.throughput); }

void parse(Input& in, const EventType&, PoolMinMax& e) {
  in.read(e.min_workers, e.max_workers, e.min_io, e.max_io);
}

void parse(Input& in, const EventType&, IoThread& e) { in.read(e.threads, e.retired); }

void parse(Input& in, const EventType&, PoolWork& e) { in.pointer(e.work); }

void parse(Input& in, const EventType&, ThreadEvent& e) { in.pointer(e.thread); }

void parse(Input& in, const EventType&, ThreadSample& e) { in.read(e.type); }

void parse(Input& in, const EventType& type, TaskEvent& e) {
  std::uint32_t truth = 0;
  in.read(e.scheduler, e.originating_task, e.task);
  switch (find(kTasks, type.id)) {
    case Known::kTaskScheduled:
      return in.read(e.creating_task, e.options);
    case Known::kTaskStop:
      in.read(truth);
      e.exceptional = truth != 0;
      return;
    case Known::kTaskWaitBegin:
      return in.read(e.behavior, e.continuation);
    default:
      return;
  }
}

}  // namespace

Known known_event(const EventType& type) {
  if (type.provider == kRuntimeProvider) return find(kRuntime, type.id);
  if (type.provider == kRundownProvider) return find(kRundown, type.id);
  if (type.provider == kTasksProvider) return find(kTasks, type.id);
  if (type.provider == kFrameworkProvider) return find(kFramework, type.id);
  if (type.provider == kSamplerProvider && type.id == 0) return Known::kThreadSample;
  return Known::kNone;
}

std::optional<GcCommittedUsage> committed_usage(const GcDynamic& event) {
  if (utf8_of(event.name) != "CommittedUsage") return std::nullopt;
  Input in{event.data, 8};
  GcCommittedUsage usage;
  in.skip(2);  // version
  in.read(usage.in_use, usage.in_global_decommit, usage.in_free, usage.in_global_free,
          usage.bookkeeping);
  if (!in.ok()) return std::nullopt;
  return usage;
}

template <class T>
std::optional<T> read_payload(Bytes payload, const EventType& type, std::uint32_t pointer_size) {
  Input in{payload, pointer_size};
  T event;
  parse(in, type, event);
  if (!in.ok()) return std::nullopt;
  return event;
}

#define CLRSCOPE_EVENT(T) \
  template std::optional<T> read_payload<T>(Bytes, const EventType&, std::uint32_t);
CLRSCOPE_EVENT(GcStart)
CLRSCOPE_EVENT(GcEnd)
CLRSCOPE_EVENT(GcSuspend)
CLRSCOPE_EVENT(GcHeapStats)
CLRSCOPE_EVENT(GcTriggered)
CLRSCOPE_EVENT(GcGlobalHistory)
CLRSCOPE_EVENT(GcDynamic)
CLRSCOPE_EVENT(AllocationTick)
CLRSCOPE_EVENT(AllocationSampled)
CLRSCOPE_EVENT(MethodEvent)
CLRSCOPE_EVENT(MethodJittingStarted)
CLRSCOPE_EVENT(R2RGetEntryPoint)
CLRSCOPE_EVENT(ModuleEvent)
CLRSCOPE_EVENT(ExceptionThrown)
CLRSCOPE_EVENT(ContentionStart)
CLRSCOPE_EVENT(ContentionStop)
CLRSCOPE_EVENT(LockCreated)
CLRSCOPE_EVENT(WaitStart)
CLRSCOPE_EVENT(ThreadPoolWorker)
CLRSCOPE_EVENT(WorkerAdjustment)
CLRSCOPE_EVENT(WorkerSample)
CLRSCOPE_EVENT(PoolMinMax)
CLRSCOPE_EVENT(IoThread)
CLRSCOPE_EVENT(PoolWork)
CLRSCOPE_EVENT(ThreadEvent)
CLRSCOPE_EVENT(ThreadSample)
CLRSCOPE_EVENT(TaskEvent)
#undef CLRSCOPE_EVENT

}  // namespace clrscope::nettrace
