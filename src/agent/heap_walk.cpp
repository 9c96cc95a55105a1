#include "agent/heap_walk.h"

#include "agent/names.h"
#include "agent/snapshot.h"
#include "agent/stack.h"
#include "agent/syscalls.h"

namespace clrscope::agent {
namespace {

constexpr std::uint32_t kMostEdges = 1 << 17;
constexpr std::uint32_t kProbes = 64;
constexpr int kLongestUnloadWaitMs = 500;
// GC, with types, objects and their collection at once; informational events of it too.
constexpr EventConfig kHeapEvents{0x198'0001, 5};
constexpr std::uint32_t kRestartEnd = 3, kSuspendBegin = 9, kBulkNode = 18;

// One object of a bulk event.
struct Node {
  std::uint64_t address;
  std::uint64_t bytes;
  std::uint64_t type;
  std::uint64_t edges;
};
constexpr std::uint32_t kNodesBegin = 10;  // index, count, instance of the runtime

wire::RecordHeader header_of(wire::RecordKind kind) {
  return {.kind = kind, .bytes = 0, .thread = this_thread(), .time = read_tsc()};
}

// Any ring that has room: there are more types than one holds.
template <class Record>
void put(Recorder& recorder, Record record) {
  record.header.bytes = sizeof(Record);
  (void)recorder.fill_record(record.header.thread, sizeof(Record),
                             [&](void* at) { __builtin_memcpy(at, &record, sizeof record); });
}

}  // namespace

struct HeapWalk::Edge {
  Id from;
  Id to;
  std::uint64_t count;
};

struct HeapWalk::Walking {
  HeapWalk* self;
  ComObject* runtime;
  bool references;
  Id type;  // of the object that is being looked at
};

bool HeapWalk::prepare(bool references) {
  if (!types_.open()) return false;
  types_.clear();
  unloads_before_ = unloads_.load(std::memory_order_acquire);
  lost_edges_ = 0;
  if (!references) return true;
  if (!edges_) edges_ = static_cast<Edge*>(map_memory(sizeof(Edge) * kMostEdges));
  if (!edges_) return false;
  for (std::uint32_t i = 0; i < kMostEdges; ++i)
    if (edges_[i].count != 0) edges_[i] = {};
  return true;
}

void HeapWalk::add_edge(Id from, Id to) {
  const auto start =
      static_cast<std::uint32_t>(((from >> 3) * 31 + (to >> 3)) * 0x9e37'79b9'7f4a'7c15ULL >> 40);
  for (std::uint32_t i = 0; i < kProbes; ++i) {
    auto& edge = edges_[(start + i) % kMostEdges];
    if (edge.count == 0) {
      edge = {from, to, 1};
      return;
    }
    if (edge.from == from && edge.to == to) {
      ++edge.count;
      return;
    }
  }
  ++lost_edges_;
}

constexpr std::int32_t kGoOn = 1;

std::int32_t HeapWalk::on_reference(Id, Id* reference, void* data) {
  auto& walking = *static_cast<Walking*>(data);
  Id type = 0;
  if (reference && *reference != 0 &&
      call(walking.runtime, info::kGetClassFromObject, *reference, &type) >= 0 && type != 0)
    walking.self->add_edge(walking.type, type);
  return kGoOn;
}

std::int32_t HeapWalk::on_object(Id object, void* data) {
  auto& walking = *static_cast<Walking*>(data);
  Id type = 0;
  std::size_t bytes = 0;
  if (call(walking.runtime, info::kGetClassFromObject, object, &type) < 0 || type == 0)
    return kGoOn;
  (void)call(walking.runtime, info::kGetObjectSize2, object, &bytes);
  walking.self->types_.add(type, bytes);
  if (!walking.references) return kGoOn;
  walking.type = type;
  (void)call(walking.runtime, info::kEnumerateObjectReferences, object, &on_reference, data);
  return kGoOn;
}

void HeapWalk::on_unload() {
  unloads_.fetch_add(1, std::memory_order_acq_rel);
  for (int waited = 0; naming_.load(std::memory_order_acquire) != 0; ++waited) {
    if (waited == kLongestUnloadWaitMs) return;
    syscall_raw(number::kPoll, 0, 0, 1);
  }
}

HResult HeapWalk::walk(ComObject* runtime, Recorder& recorder, bool references) {
  if (!prepare(references)) return kFail;
  Walking walking{this, runtime, references, 0};
  std::uint64_t begin = 0;
  if (const auto suspended = suspend_runtime(runtime, begin); suspended < 0) return suspended;
  const auto walked =
      call(runtime, info::kEnumerateGCHeapObjects, &on_object, static_cast<void*>(&walking));
  const auto resumed = call(runtime, info::kResumeRuntime);
  pause_ = read_tsc() - begin;
  if (walked < 0) return walked;
  source_ = wire::HeapSource::kWalk;
  write(runtime, recorder);
  return resumed;
}

// The session begins with a collection that tells all objects; the call returns when it has ended.
HResult HeapWalk::walk_by_events(ComObject* runtime) {
  if (!prepare(false)) return kFail;
  suspended_ = pause_ = 0;
  nodes_ = false;
  listens_.store(true, std::memory_order_release);
  std::uint64_t session = 0;
  const auto started = start_events(runtime, kHeapEvents, session);
  listens_.store(false, std::memory_order_release);
  if (started < 0) return started;
  const auto stopped = stop_events(runtime, session);
  source_ = wire::HeapSource::kEvents;
  return nodes_ ? stopped : kFail;
}

void HeapWalk::on_event(const DeliveredEvent& event) {
  if (event.id == kSuspendBegin && !nodes_) suspended_ = read_tsc();
  if (event.id == kRestartEnd && nodes_ && pause_ == 0 && suspended_ != 0)
    pause_ = read_tsc() - suspended_;
  if (event.id != kBulkNode || event.size < kNodesBegin) return;
  nodes_ = true;
  std::uint32_t count = 0;
  __builtin_memcpy(&count, event.payload + 4, sizeof count);
  const auto most = (event.size - kNodesBegin) / static_cast<std::uint32_t>(sizeof(Node));
  for (std::uint32_t i = 0; i < count && i < most; ++i) {
    Node node;
    __builtin_memcpy(&node, event.payload + kNodesBegin + i * sizeof(Node), sizeof node);
    if (node.type != 0) types_.add(static_cast<Id>(node.type), node.bytes);
  }
}

void HeapWalk::write(ComObject* runtime, Recorder& recorder) {
  naming_.store(1, std::memory_order_release);
  const auto slot_of = [&](Id type) {
    return unloads_.load(std::memory_order_acquire) == unloads_before_
               ? type_slot(runtime, recorder, type)
               : wire::kNoName;
  };
  wire::HeapEnd end{.header = header_of(wire::RecordKind::kHeapEnd),
                    .pause_ticks = pause_,
                    .objects = 0,
                    .bytes = 0,
                    .uncounted = types_.uncounted(),
                    .lost_edges = lost_edges_,
                    .types = 0,
                    .source = source_};
  types_.each([&](Id type, std::uint64_t count, std::uint64_t bytes) {
    ++end.types;
    end.objects += count;
    end.bytes += bytes;
    put(recorder, wire::HeapType{.header = header_of(wire::RecordKind::kHeapType),
                                 .count = count,
                                 .bytes = bytes,
                                 .type = slot_of(type),
                                 .reserved = 0});
  });
  for (std::uint32_t i = 0; edges_ && i < kMostEdges; ++i)
    if (edges_[i].count != 0) {
      put(recorder, wire::HeapEdge{.header = header_of(wire::RecordKind::kHeapEdge),
                                   .count = edges_[i].count,
                                   .from = slot_of(edges_[i].from),
                                   .to = slot_of(edges_[i].to)});
      edges_[i] = {};
    }
  naming_.store(0, std::memory_order_release);
  put(recorder, end);
}

}  // namespace clrscope::agent
