#include "analyze/heap_events.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <unordered_map>

#include "analyze/durations.h"
#include "analyze/heap_assembly.h"
#include "analyze/process_names.h"
#include "analyze/providers.h"
#include "base/text.h"
#include "model/heap_segments.h"
#include "nettrace/payload_events.h"

namespace clrscope::analyze {
namespace {

using nettrace::Known;

// Ids of Microsoft-Windows-DotNETRuntime.
enum BulkId : std::uint32_t {
  kBulkType = 15,
  kBulkRootEdge = 16,
  kBulkDependent = 17,  // GCBulkRootConditionalWeakTableElementEdge
  kBulkNode = 18,
  kBulkEdge = 19,
  kGenerationRange = 23,
  kBulkRootCcw = 36,
  kBulkStaticVar = 38,
};

constexpr std::uint32_t kInduced = 1;  // GCReason
constexpr std::uint32_t kBackground = 1;
constexpr std::uint32_t kMostReferences = 0x7fffffff;

RootKind kind_of(std::uint8_t kind, std::uint32_t flags) {
  enum { kStackRoot = 0, kFinalizerRoot = 1, kHandleRoot = 2 };
  enum { kPinning = 1, kRefCounted = 8 };
  if (kind == kStackRoot) return RootKind::kStack;
  if ((flags & kRefCounted) != 0) return RootKind::kRefCountHandle;
  if (kind == kFinalizerRoot) return RootKind::kFinalizer;
  if (kind != kHandleRoot) return RootKind::kOther;
  return (flags & kPinning) != 0 ? RootKind::kPinnedHandle : RootKind::kStrongHandle;
}

// "Shop.Core" of "/app/Shop.Core.dll"
std::string module_name(Bytes path) {
  auto name = utf8_of(path);
  name.erase(0, name.find_last_of("/\\") + 1);
  for (const std::string_view extension : {".dll", ".exe"})
    if (name.size() > extension.size() && name.ends_with(extension))
      name.resize(name.size() - extension.size());
  return name;
}

// Events of a kind are numbered from 0 on; a number that goes back begins another walk.
class Sequence {
 public:
  // How many are missing before this one; nothing when it is of another walk.
  std::optional<std::uint32_t> missing_before(std::int32_t index) {
    over_ = over_ || index < next_;
    if (over_) return std::nullopt;
    const auto missing = index - next_;
    next_ = index == INT32_MAX ? INT32_MAX : index + 1;
    return static_cast<std::uint32_t>(missing);
  }

 private:
  std::int32_t next_ = 0;
  bool over_ = false;
};

}  // namespace

class HeapEvents::Impl {
 public:
  void on_batch(const nettrace::Reader& reader, const nettrace::Batch& batch) {
    info_ = reader.info();
    if (info_ != nullptr) pointer_size_ = info_->pointer_size;
    for (const Event& event : batch.events) on_event(event);
    info_ = nullptr;
  }

  Result<HeapSnapshot> finish(std::uint64_t lost) {
    if (walked_.addresses.empty())
      return fail(Errc::kNotFound, "no heap in the trace: no garbage collection walked the heap")
          .hint("record with --providers Microsoft-Windows-DotNETRuntime:0x1d80001:5");
    HeapSnapshot heap{.pid = static_cast<pid_t>(*process_), .source = HeapSource::kEvents};
    heap.name = name_;
    heap.runtime = runtime_;
    heap.server_gc = heaps_ > 1;
    heap.taken = taken_;
    if (suspended_ && restarted_) heap.pause = between(*suspended_, *restarted_);
    name_statics();
    auto assembled = assemble(std::move(walked_));
    heap.graph = std::move(assembled.graph);
    heap.graph.types = std::move(types_);
    heap.unresolved_edges = assembled.unresolved_edges;
    heap.segments = std::move(segments_);
    count_objects(heap.graph, heap.segments);
    add_notes(heap, lost, assembled.unresolved_roots);
    return heap;
  }

  bool begun() const { return begun_; }
  bool complete() const { return ended_; }
  std::uint64_t objects() const { return walked_.addresses.size(); }

 private:
  void on_event(const Event& event) {
    const auto provider = providers_.of(*event.type);
    if (provider == Provider::kRuntime && on_bulk(event)) return;
    if (provider == Provider::kRuntime || provider == Provider::kRundown) {
      const auto index = event.type->index;
      if (index >= known_.size()) known_.resize(index + 1, std::nullopt);
      if (!known_[index]) known_[index] = nettrace::known_event(*event.type);
      on_known(event, *known_[index]);
      if (auto version = runtime_version(event, provider); version && is_ours(event))
        runtime_ = std::move(*version);
    } else if (auto name = process_name(event); name && is_ours(event)) {
      name_ = std::move(*name);
    }
  }

  // Before the first object any process may be the one whose heap is walked.
  bool is_ours(const Event& event) const { return !process_ || *process_ == event.process; }

  bool on_bulk(const Event& event) {
    const auto id = event.type->id;
    if (id == kBulkType) {
      if (is_ours(event)) on_types(event);
      return true;
    }
    if (id < kBulkRootEdge || id > kBulkStaticVar) return false;
    switch (id) {
      case kBulkNode:
        if (!process_) process_ = event.process;
        if (is_ours(event)) on_nodes(event);
        return true;
      case kBulkEdge:
        if (is_ours(event)) on_edges(event);
        return true;
      case kBulkRootEdge:
        if (is_ours(event)) on_roots(event);
        return true;
      case kBulkDependent:
        if (is_ours(event)) on_dependent(event);
        return true;
      case kGenerationRange:
        if (is_ours(event) && !ended_ && !walked_.addresses.empty()) on_range(event);
        return true;
      case kBulkRootCcw:
        if (is_ours(event) && !ended_) on_ccws(event);
        return true;
      case kBulkStaticVar:
        if (is_ours(event) && !ended_) on_statics(event);
        return true;
      default:
        return false;
    }
  }

  std::uint64_t take_pointer(ByteReader& in) const {
    return pointer_size_ == 4 ? in.read<std::uint32_t>() : in.read<std::uint64_t>();
  }

  struct Head {
    std::uint32_t missing = 0;  // events before this one
    std::uint32_t count = 0;    // of its entries, all of which are there
  };
  // Of the events that are numbered.
  std::optional<Head> take_head(ByteReader& in, Sequence& sequence, std::size_t entry) const {
    const auto index = in.read<std::int32_t>();
    const auto count = in.read<std::uint32_t>();
    in.skip(2);  // which runtime of the process
    if (!in.ok()) return std::nullopt;
    const auto missing = sequence.missing_before(index);
    if (!missing) return std::nullopt;
    const auto room = in.remaining() / entry;
    return Head{*missing, std::min(count, static_cast<std::uint32_t>(room))};
  }

  void on_nodes(const Event& event) {
    ByteReader in{event.payload};
    const auto head = take_head(in, node_events_, pointer_size_ + 24);
    if (!head) return;
    if (head->missing > 0) {
      walked_.attributed = std::min(walked_.attributed, walked_.addresses.size());
      missing_objects_ += std::uint64_t{head->missing} * std::max(full_nodes_, head->count);
    }
    full_nodes_ = std::max(full_nodes_, head->count);
    for (std::uint32_t i = 0; i < head->count; ++i) {
      const auto address = take_pointer(in);
      const auto size = in.read<std::uint64_t>();
      const auto type = in.read<std::uint64_t>();
      const auto references = in.read<std::uint64_t>();
      if (walked_.addresses.size() >= HeapGraph::kHuge - 1) return;
      walked_.add(address, size, type_of(type),
                  static_cast<std::uint32_t>(std::min<std::uint64_t>(references, kMostReferences)));
    }
  }

  void on_edges(const Event& event) {
    ByteReader in{event.payload};
    const auto head = take_head(in, edge_events_, pointer_size_ + 4);
    if (!head) return;
    if (head->missing > 0)
      walked_.gaps.push_back({walked_.references.size(),
                              std::uint64_t{head->missing} * std::max(full_edges_, head->count)});
    full_edges_ = std::max(full_edges_, head->count);
    for (std::uint32_t i = 0; i < head->count; ++i) {
      walked_.references.push_back(take_pointer(in));
      in.skip(4);  // by which field: always 0
    }
  }

  void on_roots(const Event& event) {
    ByteReader in{event.payload};
    const auto head = take_head(in, root_events_, pointer_size_ * 2 + 5);
    if (!head) return;
    missing_roots_ = missing_roots_ || head->missing > 0;
    constexpr std::uint32_t kWeak = 2;
    for (std::uint32_t i = 0; i < head->count; ++i) {
      const auto object = take_pointer(in);
      const auto kind = in.read<std::uint8_t>();
      const auto flags = in.read<std::uint32_t>();
      (void)take_pointer(in);  // where the reference lies
      if (object == 0 || (flags & kWeak) != 0) continue;
      walked_.roots.push_back({object, kind_of(kind, flags), root_name("")});
    }
  }

  void on_dependent(const Event& event) {
    ByteReader in{event.payload};
    const auto head = take_head(in, dependent_events_, pointer_size_ * 3);
    if (!head) return;
    missing_roots_ = missing_roots_ || head->missing > 0;
    for (std::uint32_t i = 0; i < head->count; ++i) {
      const auto key = take_pointer(in);
      const auto value = take_pointer(in);
      (void)take_pointer(in);
      if (key != 0 && value != 0) walked_.dependent.emplace_back(key, value);
    }
  }

  void on_ccws(const Event& event) {
    ByteReader in{event.payload};
    const auto count = in.read<std::uint32_t>();
    in.skip(2);
    for (std::uint32_t i = 0; i < count && in.ok(); ++i) {
      in.skip(8);
      const auto object = in.read<std::uint64_t>();
      in.skip(8 + 8 + 4 + 4 + 4);
      if (in.ok() && object != 0)
        walked_.roots.push_back({object, RootKind::kRefCountHandle, root_name("")});
    }
  }

  void on_statics(const Event& event) {
    ByteReader in{event.payload};
    const auto count = in.read<std::uint32_t>();
    in.skip(8 + 2);
    for (std::uint32_t i = 0; i < count && in.ok(); ++i) {
      in.skip(8);
      const auto object = in.read<std::uint64_t>();
      const auto type = in.read<std::uint64_t>();
      const auto flags = in.read<std::uint32_t>();
      const auto field = in.take_utf16z();
      constexpr std::uint32_t kThreadLocal = 1;
      if (!in.ok() || object == 0) continue;
      statics_.push_back({object, type,
                          (flags & kThreadLocal) != 0 ? RootKind::kThreadStatic : RootKind::kStatic,
                          utf8_of(field)});
    }
  }

  void on_range(const Event& event) {
    ByteReader in{event.payload};
    const auto generation = in.read<std::uint8_t>();
    const auto start = take_pointer(in);
    const auto used = in.read<std::uint64_t>();
    if (!in.ok() || generation > static_cast<int>(HeapGeneration::kPinned) || used == 0 ||
        used > UINT64_MAX - start)
      return;
    segments_.push_back({.start = start,
                         .end = start + used,
                         .generation = static_cast<HeapGeneration>(generation)});
  }

  void on_types(const Event& event) {
    ByteReader in{event.payload};
    const auto count = in.read<std::uint32_t>();
    in.skip(2);
    for (std::uint32_t i = 0; i < count && in.ok(); ++i) {
      const auto id = in.read<std::uint64_t>();
      const auto module = in.read<std::uint64_t>();
      const auto name_id = in.read<std::uint32_t>();
      in.skip(4 + 1);  // flags, element type
      const auto name = in.take_utf16z();
      in.skip(std::size_t{8} * in.read<std::uint32_t>());
      if (!in.ok()) return;
      auto& type = types_[type_of(id)];
      type.name = name.empty() ? fmt::format("Type(0x{:x})", name_id) : utf8_of(name);
      module_of_[id] = module;
    }
  }

  std::uint32_t type_of(std::uint64_t id) {
    const auto [found, added] =
        type_numbers_.try_emplace(id, static_cast<std::uint32_t>(types_.size()));
    if (added) types_.push_back({.id = id});
    return found->second;
  }

  std::uint32_t root_name(const std::string& name) {
    const auto [found, added] =
        root_names_.try_emplace(name, static_cast<std::uint32_t>(walked_.root_names.size()));
    if (added) walked_.root_names.push_back(name);
    return found->second;
  }

  void on_known(const Event& event, Known known) {
    switch (known) {
      case Known::kGcStart: {
        const auto gc = nettrace::read_as<nettrace::GcStart>(event, pointer_size_);
        if (!gc || ended_ || begun_ || !is_ours(event) || gc->generation < 2 ||
            gc->type == kBackground || gc->reason != kInduced)
          return;
        begun_ = true, gc_ = gc->number, gc_process_ = event.process;
        if (info_ != nullptr)
          taken_ = std::chrono::time_point_cast<std::chrono::system_clock::duration>(
              info_->wall_of(event.time));
        return;
      }
      case Known::kGcEnd: {
        const auto gc = nettrace::read_as<nettrace::GcEnd>(event, pointer_size_);
        if (!gc || !begun_ || ended_ || gc->number != gc_ || event.process != gc_process_) return;
        ended_ = !walked_.addresses.empty();
        begun_ = ended_;  // else the next one is to be it
        return;
      }
      case Known::kGcSuspendBegin:
        if (!begun_ && is_ours(event)) suspended_ = event.time;
        return;
      case Known::kGcRestartBegin:
        if (ended_ && !restarted_ && is_ours(event)) restarted_ = event.time;
        return;
      case Known::kGcGlobalHistory:
        if (const auto gc = nettrace::read_as<nettrace::GcGlobalHistory>(event, pointer_size_);
            gc && is_ours(event))
          heaps_ = std::max(heaps_, gc->heaps);
        return;
      case Known::kModuleLoad:
      case Known::kModuleRundown:
        if (const auto module = nettrace::read_as<nettrace::ModuleEvent>(event, pointer_size_);
            module && is_ours(event))
          modules_.try_emplace(module->module, module_name(module->il_path));
        return;
      default:
        return;
    }
  }

  // Names of types and modules come at any time, so fields and types get theirs at the end.
  void name_statics() {
    for (auto& type : types_) {
      if (type.name.empty()) type.name = fmt::format("Type(0x{:x})", type.id), ++unnamed_types_;
      const auto id = module_of_.find(type.id);
      if (id == module_of_.end()) continue;
      const auto module = modules_.find(id->second);
      if (module != modules_.end()) type.module = module->second;
    }
    // The runtime tells the type of a field's value, not the class that the field is in.
    for (const auto& field : statics_) {
      const auto type = type_numbers_.find(field.type);
      const auto value = type == type_numbers_.end() ? fmt::format("Type(0x{:x})", field.type)
                                                     : types_[type->second].name;
      walked_.roots.push_back(
          {field.object, field.kind, root_name(fmt::format("{} ({})", field.name, value))});
    }
  }

  void add_notes(HeapSnapshot& heap, std::uint64_t lost, std::uint64_t unresolved_roots) const {
    const auto note = [&](std::string text) { heap.notes.push_back(std::move(text)); };
    if (!ended_) note("the garbage collection that walked the heap did not end in the trace");
    if (lost > 0)
      note(fmt::format("the runtime lost {} events: the heap is incomplete", format_count(lost)));
    if (missing_objects_ > 0)
      note(fmt::format("about {} objects are missing, and what the objects after them refer to",
                       format_count(missing_objects_)));
    if (missing_roots_) note("some roots are missing");
    if (unresolved_roots > 0)
      note(fmt::format("{} roots lead to no known object", format_count(unresolved_roots)));
    if (unnamed_types_ > 0)
      note(fmt::format("{} types have no name: the runtime did not send it",
                       format_count(unnamed_types_)));
  }

  struct StaticField {
    std::uint64_t object, type;
    RootKind kind;
    std::string name;
  };

  const nettrace::TraceInfo* info_ = nullptr;  // while a batch is looked at
  std::uint32_t pointer_size_ = 8;
  Providers providers_;
  std::vector<std::optional<Known>> known_;  // by the type's index
  std::optional<ProcessId> process_;         // whose heap it is, from its first object on
  std::string name_, runtime_;

  bool begun_ = false, ended_ = false;
  std::uint32_t gc_ = 0;
  ProcessId gc_process_{};
  std::chrono::system_clock::time_point taken_{};
  std::optional<TraceTime> suspended_, restarted_;
  std::uint32_t heaps_ = 0;

  WalkedHeap walked_;
  Sequence node_events_, edge_events_, root_events_, dependent_events_;
  std::uint32_t full_nodes_ = 0, full_edges_ = 0;  // entries of an event that is full
  std::vector<HeapSegment> segments_;
  std::vector<HeapType> types_;
  std::unordered_map<std::uint64_t, std::uint32_t> type_numbers_;
  std::unordered_map<std::uint64_t, std::uint64_t> module_of_;
  std::unordered_map<std::uint64_t, std::string> modules_;
  std::vector<StaticField> statics_;
  std::unordered_map<std::string, std::uint32_t> root_names_;
  std::uint64_t missing_objects_ = 0;
  std::uint64_t unnamed_types_ = 0;
  bool missing_roots_ = false;
};

HeapEvents::HeapEvents() : impl_(std::make_unique<Impl>()) {}
HeapEvents::~HeapEvents() = default;
HeapEvents::HeapEvents(HeapEvents&&) noexcept = default;
HeapEvents& HeapEvents::operator=(HeapEvents&&) noexcept = default;

void HeapEvents::on_batch(const nettrace::Reader& reader, const nettrace::Batch& batch) {
  impl_->on_batch(reader, batch);
}
bool HeapEvents::begun() const { return impl_->begun(); }
bool HeapEvents::complete() const { return impl_->complete(); }
std::uint64_t HeapEvents::objects() const { return impl_->objects(); }

Result<HeapSnapshot> HeapEvents::finish(std::uint64_t lost) && { return impl_->finish(lost); }

}  // namespace clrscope::analyze
