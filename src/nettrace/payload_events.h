// The runtime's events that the analysis uses, as structs. Ask known_event() once for each type,
// then read_as<T>() with the struct that the kind names; nothing comes back when the payload is
// shorter than its version promises. Fields an old version lacks are zero or empty.
//
//   switch (known[event.type->index]) {
//     case Known::kGcStart:
//       if (auto gc = read_as<GcStart>(event, info.pointer_size)) begin(gc->number,
//       gc->generation);
//
// Texts are UTF-16 as they lie in the payload: utf8_of() makes text of them. They live as long as
// the payload.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "model/event.h"

namespace clrscope::nettrace {

enum class Known : std::uint8_t {
  kNone,
  kGcStart,         // GcStart
  kGcEnd,           // GcEnd
  kGcSuspendBegin,  // GcSuspend
  kGcSuspendEnd,    // no payload of interest, likewise the next two
  kGcRestartBegin,
  kGcRestartEnd,
  kGcHeapStats,        // GcHeapStats
  kGcTriggered,        // GcTriggered
  kGcGlobalHistory,    // GcGlobalHistory
  kGcDynamic,          // GcDynamic
  kAllocationTick,     // AllocationTick
  kAllocationSampled,  // AllocationSampled
  kMethodLoad,         // MethodEvent, likewise the next two; from rundowns too
  kMethodUnload,
  kMethodRundown,
  kMethodJittingStarted,  // MethodJittingStarted
  kR2RGetEntryPoint,      // R2RGetEntryPoint
  kModuleLoad,            // ModuleEvent, likewise the next two
  kModuleUnload,
  kModuleRundown,
  kException,        // ExceptionThrown
  kContentionStart,  // ContentionStart
  kContentionStop,   // ContentionStop
  kLockCreated,      // LockCreated
  kWaitStart,        // WaitStart; its stop has no payload of interest
  kWaitStop,
  kWorkerStart,  // ThreadPoolWorker, likewise the next two
  kWorkerStop,
  kWorkerWait,
  kWorkerAdjustment,  // WorkerAdjustment
  kWorkerSample,      // WorkerSample
  kPoolMinMax,        // PoolMinMax
  kIoThreadCreate,    // IoThread, likewise the next
  kIoThreadTerminate,
  kPoolEnqueue,  // PoolWork, likewise the next
  kPoolDequeue,
  kThreadCreating,  // ThreadEvent, likewise the next; on the thread that starts it
  kThreadRunning,   // on the new thread
  kThreadSample,    // ThreadSample
  kTaskScheduled,   // TaskEvent, likewise the next four
  kTaskStart,
  kTaskStop,
  kTaskWaitBegin,
  kTaskWaitEnd,
  kTaskContinuation,  // TaskEvent: AwaitTaskContinuationScheduled, task = the continuation's
};

Known known_event(const EventType& type);

struct GcStart {
  std::uint32_t number = 0, generation = 0;
  std::uint32_t reason = 0;  // names: "GCReason" in the table
  std::uint32_t type = 0;    // 0 blocking, 1 background, 2 blocking during a background one
  std::uint64_t client_sequence = 0;
};
struct GcEnd {
  std::uint32_t number = 0, generation = 0;
};
struct GcSuspend {
  std::uint32_t reason = 0;  // "GCSuspendEEReason"; 1 and 6 are for a collection
  std::uint32_t gc_number = 0;
};
struct GcHeapStats {
  std::array<std::uint64_t, 5> size{}, promoted{};  // generations 0 to 2, large, pinned
  std::uint64_t finalization_promoted_bytes = 0, finalization_promoted_count = 0;
  std::uint32_t pinned_objects = 0, sink_blocks = 0, handles = 0;

  std::uint64_t total_size() const { return size[0] + size[1] + size[2] + size[3] + size[4]; }
};
struct GcTriggered {
  std::uint32_t reason = 0;  // "GCReason"
};
struct GcGlobalHistory {
  std::uint64_t final_youngest_desired = 0;
  std::uint32_t heaps = 0, condemned_generation = 0, gen0_reductions = 0, reason = 0;
  std::uint32_t mechanisms = 0;  // "GCGlobalMechanisms": 1 concurrent, 2 compacting, 4 promoting
  std::uint32_t pause_mode = 0, memory_pressure = 0;
};
struct GcDynamic {
  Bytes name{};  // such as CommittedUsage
  Bytes data{};
};
struct GcCommittedUsage {  // the GcDynamic of that name, .NET 7 and later
  std::uint64_t in_use = 0, in_global_decommit = 0, in_free = 0, in_global_free = 0;
  std::uint64_t bookkeeping = 0;
};
// Nothing when it is another dynamic event.
std::optional<GcCommittedUsage> committed_usage(const GcDynamic& event);

struct AllocationTick {
  std::uint64_t amount = 0;  // bytes since the tick before
  std::uint32_t kind = 0;    // 0 small, 1 large, 2 pinned
  std::uint64_t type_id = 0;
  Bytes type_name{};
  std::uint32_t heap = 0;
  std::uint64_t address = 0;
  std::uint64_t object_size = 0;
};
struct AllocationSampled {
  std::uint32_t kind = 0;
  std::uint64_t type_id = 0;
  Bytes type_name{};
  std::uint64_t address = 0;
  std::uint64_t object_size = 0;
  std::uint64_t sampled_offset = 0;
};
struct MethodEvent {
  std::uint64_t method = 0, module = 0, start = 0;
  std::uint32_t size = 0, token = 0;
  std::uint32_t flags = 0;                  // all bits; "MethodFlags" names the low ones
  Bytes name_space{}, name{}, signature{};  // empty in the events that are not verbose
  std::uint64_t rejit = 0;

  bool dynamic() const { return (flags & 1) != 0; }
  bool generic() const { return (flags & 2) != 0; }
  bool jitted() const { return (flags & 8) != 0; }
  std::uint32_t tier() const { return jitted() ? flags >> 7 & 7 : 0; }  // "OptimizationTier"
  std::uint32_t extent() const { return flags >> 28; }                  // 0 hot, 1 cold part
};
struct MethodJittingStarted {
  std::uint64_t method = 0, module = 0;
  std::uint32_t token = 0, il_size = 0;
  Bytes name_space{}, name{}, signature{};
};
struct R2RGetEntryPoint {
  std::uint64_t method = 0;
  Bytes name_space{}, name{}, signature{};
  std::uint64_t entry = 0;
};
struct ModuleEvent {
  std::uint64_t module = 0, assembly = 0;
  std::uint32_t flags = 0;  // "ModuleFlags"
  Bytes il_path{}, native_path{};
  Guid pdb_signature{};
  std::uint32_t pdb_age = 0;
  Bytes pdb_path{};
};
struct ExceptionThrown {
  Bytes type{}, message{};
  std::uint64_t ip = 0;
  std::uint32_t hresult = 0;
  std::uint16_t flags = 0;  // "ExceptionThrownFlags"
};
struct ContentionStart {
  std::uint8_t flags = 0;  // 0 managed, 1 native
  std::uint64_t lock = 0, object = 0, owner_thread = 0;
};
struct ContentionStop {
  std::uint8_t flags = 0;
  double duration_ns = 0;  // 0 in version 0
};
struct LockCreated {
  std::uint64_t lock = 0, object = 0;
};
struct WaitStart {
  std::uint8_t source = 0;  // 1: Monitor.Wait
  std::uint64_t object = 0;
};
struct ThreadPoolWorker {
  std::uint32_t active = 0, retired = 0;
};
struct WorkerAdjustment {
  double average_throughput = 0;
  std::uint32_t threads = 0;
  std::uint32_t reason = 0;  // "ThreadAdjustmentReason"; 6 is starvation
};
struct WorkerSample {
  double throughput = 0;
};
struct PoolMinMax {
  std::uint16_t min_workers = 0, max_workers = 0, min_io = 0, max_io = 0;
};
struct IoThread {
  std::uint32_t threads = 0, retired = 0;
};
struct PoolWork {
  std::uint64_t work = 0;
};
struct ThreadEvent {
  std::uint64_t thread = 0;  // the runtime's address of it
};
struct ThreadSample {
  std::uint32_t type = 0;  // 1 in native code or waiting, 2 in managed code
};
struct TaskEvent {
  std::int32_t scheduler = 0, originating_task = 0, task = 0;
  std::int32_t creating_task = 0;  // of kTaskScheduled
  std::int32_t options = 0;        // of kTaskScheduled: TaskCreationOptions
  bool exceptional = false;        // of kTaskStop
  std::int32_t behavior = 0;       // of kTaskWaitBegin: 1 blocking, 2 await
  std::int32_t continuation = 0;   // of kTaskWaitBegin
};

// Exists for the structs above.
template <class T>
std::optional<T> read_payload(Bytes payload, const EventType& type, std::uint32_t pointer_size);

template <class T>
std::optional<T> read_as(const Event& event, std::uint32_t pointer_size = 8) {
  return read_payload<T>(event.payload, *event.type, pointer_size);
}

}  // namespace clrscope::nettrace
