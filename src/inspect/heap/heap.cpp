#include "inspect/heap/heap.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "base/clock.h"
#include "inspect/gc_table.h"
#include "inspect/heap/collectible.h"
#include "inspect/heap/object_index.h"
#include "inspect/heap/object_walk.h"
#include "inspect/heap/references.h"
#include "inspect/heap/roots.h"
#include "inspect/heap/strings.h"

namespace clrscope::inspect {
namespace {

constexpr std::uint64_t kUsualObject = 48;  // bytes, for what is set aside
constexpr std::size_t kMostNotes = 20;

class HeapReader {
 public:
  HeapReader(Target& target, RuntimeReader& reader, const HeapOptions& options)
      : target_(target), reader_(reader), options_(options), tables_(target) {}

  Result<HeapSnapshot> read() {
    const auto start = TraceClock::now();
    if (target_.kind() == TargetKind::kLive)
      return fail(Errc::kUnsupported, "the heap of process {} changes while it is read",
                  target_.pid())
          .hint("make a frozen twin of the process, or a core");
    gc_ = TRY(read_gc_state(target_));
    describe();
    walk();
    if (heap_.graph.objects() == 0)
      return fail(Errc::kNotFound, "no object of the heap of process {} can be read", target_.pid())
          .hint("a core needs the heap: clrscope dump --type heap");
    name_types();
    if (options_.references && has_wanted_type()) read_references();
    if (options_.equal_strings)
      heap_.equal_strings = count_equal_strings(target_, layouts_, heap_.graph);
    if (heap_.notes.size() > kMostNotes) heap_.notes.resize(kMostNotes);
    heap_.took = TraceClock::now() - start;
    return std::move(heap_);
  }

 private:
  void describe() {
    heap_.pid = target_.pid();
    heap_.runtime = reader_.version();
    heap_.source = target_.kind() == TargetKind::kCore ? HeapSource::kCore : HeapSource::kTwin;
    heap_.taken = std::chrono::system_clock::now();
    heap_.server_gc = gc_.server;
    heap_.notes = gc_.notes;
    if (gc_.collecting != 0)
      heap_.notes.emplace_back(
          "a collection was going on: objects may be counted twice or not at all");
  }

  void walk() {
    ObjectWalk walk{target_, tables_, heap_};
    for (const auto& context : gc_.contexts) walk.skip(context);
    if (auto threads = reader_.threads()) {
      threads_ = *std::move(threads);
      for (const auto& thread : threads_)
        if (thread.allocation_limit != 0)
          walk.skip({thread.allocation_pointer, thread.allocation_limit});
    } else {
      heap_.notes.push_back(
          fmt::format("the runtime's threads cannot be read: {}", threads.error().what));
    }
    std::uint64_t bytes = 0;
    for (const auto& segment : gc_.segments) bytes += segment.end - segment.start;
    const auto likely = std::min<std::uint64_t>(bytes / kUsualObject, 1 << 28);
    heap_.graph.addresses.reserve(likely);
    heap_.graph.type_of.reserve(likely);
    heap_.graph.sizes.reserve(likely);
    for (const auto& segment : gc_.segments) walk.walk(segment);
  }

  void name_types() {
    layouts_.resize(heap_.graph.types.size());
    for (auto* const layout : tables_.all())
      if (layout->type != ObjectLayout::kNoType) layouts_[layout->type] = layout;
    for (auto& type : heap_.graph.types) {
      if (const auto known = reader_.type_of_table(type.id); known && known->name != "?") {
        type.name = known->name;
        type.module = std::filesystem::path{known->module}.stem().string();
      } else {
        type.name = unnamed_type(type.id);
      }
    }
  }

  bool has_wanted_type() const {
    return options_.only_with_type.empty() ||
           std::ranges::find(heap_.graph.types, options_.only_with_type, &HeapType::name) !=
               heap_.graph.types.end();
  }

  void read_references() {
    const ObjectIndex index{heap_.segments, heap_.graph.addresses};
    auto extra = Roots{target_, reader_, gc_, index, heap_}.find(threads_, options_.static_names);
    const auto loaders = edges_to_loaders(target_, reader_, layouts_, heap_.graph);
    extra.insert(extra.end(), loaders.begin(), loaders.end());
    std::ranges::stable_sort(extra, {}, &ExtraEdge::from);
    References{target_, layouts_, index, heap_}.read(extra);
  }

  Target& target_;
  RuntimeReader& reader_;
  HeapOptions options_;
  MethodTables tables_;
  GcState gc_;
  std::vector<RuntimeThread> threads_;
  HeapSnapshot heap_;
  std::vector<ObjectLayout*> layouts_;  // by number of type
};

}  // namespace

std::string unnamed_type(std::uint64_t id) { return fmt::format("type {:#x}", id); }

Result<> check_names(const HeapSnapshot& heap) {
  const auto& types = heap.graph.types;
  const auto unnamed = std::ranges::count_if(
      types, [](const HeapType& type) { return type.name == unnamed_type(type.id); });
  constexpr std::size_t kFew = 50;  // one of so many: damage, or a type that is being made
  if (static_cast<std::size_t>(unnamed) <= types.size() / kFew) return {};
  return fail(Errc::kTimeout, "{} of {} types in the heap cannot be read", unnamed, types.size())
      .hint("try again: the process may have been loading types");
}

Result<HeapSnapshot> read_heap(Target& target, RuntimeReader& reader, const HeapOptions& options) {
  return HeapReader{target, reader, options}.read();
}

}  // namespace clrscope::inspect
