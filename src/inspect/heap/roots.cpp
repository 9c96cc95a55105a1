#include "inspect/heap/roots.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <set>

#include "inspect/heap/finalizers.h"
#include "inspect/heap/handles.h"
#include "inspect/heap/heap.h"

namespace clrscope::inspect {
namespace {

constexpr std::size_t kMostSlots = 1 << 20;  // of an array of static fields
constexpr std::uint64_t kArrayData = 16;
constexpr std::string_view kThread = "thread ";  // begins the names of roots on a stack

// How a handle keeps its object alive; nothing: it does not.
std::optional<RootKind> root_of(HandleKind kind) {
  switch (kind) {
    case HandleKind::kStrong:
    case HandleKind::kVariable:
    case HandleKind::kSizedRef:
    case HandleKind::kCrossReference:
      return RootKind::kStrongHandle;
    case HandleKind::kPinned:
    case HandleKind::kAsyncPinned:
      return RootKind::kPinnedHandle;
    case HandleKind::kRefCounted:
      return RootKind::kRefCountHandle;
    default:
      return {};
  }
}

}  // namespace

std::optional<std::uint32_t> thread_of_root(std::string_view root_name) {
  if (!root_name.starts_with(kThread)) return {};
  const auto number = root_name.substr(kThread.size());
  std::uint32_t id = 0;
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), id);
  return error == std::errc{} && end != number.data() ? std::optional{id} : std::nullopt;
}

std::vector<ExtraEdge> Roots::find(const std::vector<RuntimeThread>& threads, bool static_names) {
  if (static_names) add_named_statics();
  add_thread_statics(threads);
  add_handles();
  add_unnamed_statics();
  add_finalizers();
  add_frozen();
  add_stacks(threads);
  return std::move(extra_);
}

void Roots::add(RootKind kind, std::uint32_t object, const std::string& name) {
  const auto [known, is_new] =
      names_.try_emplace(name, static_cast<std::uint32_t>(heap_.graph.root_names.size()));
  if (is_new) heap_.graph.root_names.push_back(name);
  heap_.graph.roots.push_back({.object = object, .kind = kind, .name = known->second});
}

bool Roots::add_address(RootKind kind, std::uint64_t address, const std::string& name) {
  const auto object = address == 0 ? ObjectIndex::kNone : index_.number_of(address);
  if (object == ObjectIndex::kNone) return false;
  add(kind, object, name);
  return true;
}

void Roots::note(std::string_view what, const Error& why) {
  heap_.notes.push_back(fmt::format("{}: {}", what, why.what));
}

void Roots::add_named_statics() {
  std::vector<std::uint64_t> tables;
  for (const auto& type : heap_.graph.types) tables.push_back(type.id);
  const auto fields = reader_.static_fields(tables);
  if (!fields) note("static fields have no names", fields.error());
  if (fields && fields->empty())
    heap_.notes.emplace_back(
        "static fields have no names: the runtime's tables of types cannot be read, as in a core "
        "of the heap alone");
  for (const auto& field : fields ? *fields : std::vector<StaticField>{}) {
    if (!static_places_.insert(field.address).second) continue;
    add_address(field.thread != 0 ? RootKind::kThreadStatic : RootKind::kStatic,
                memory_.pointer(field.address).value_or(0), field.name);
  }
}

void Roots::add_thread_statics(const std::vector<RuntimeThread>& threads) {
  for (const auto& thread : threads)
    add_address(RootKind::kThreadStatic, reader_.thread_statics(thread),
                fmt::format("[ThreadStatic] fields of thread {}", thread.os_id));
}

void Roots::add_handles() {
  const auto handles = read_handles(target_, gc_);
  if (!handles) return note("handles are not among the roots", handles.error());
  std::array<std::uint64_t, kHandleKinds> counts{};
  std::uint64_t elsewhere = 0;
  for (const auto& handle : *handles) {
    ++counts[static_cast<std::size_t>(handle.kind)];
    const auto object = index_.number_of(handle.object);
    if (object == ObjectIndex::kNone) {
      ++elsewhere;
      continue;
    }
    if (handle.kind == HandleKind::kDependent) {
      const auto value = handle.extra == 0 ? ObjectIndex::kNone : index_.number_of(handle.extra);
      if (value != ObjectIndex::kNone) extra_.push_back({object, value});
    } else if (const auto kind = root_of(handle.kind)) {
      add(*kind, object, fmt::format("{} handle", name_of(handle.kind)));
      if (*kind != RootKind::kRefCountHandle) held_.push_back(object);
    }
  }
  for (std::size_t i = 0; i < counts.size(); ++i)
    if (counts[i] > 0)
      heap_.handles.push_back(
          {.kind = std::string{name_of(static_cast<HandleKind>(i))}, .count = counts[i]});
  if (elsewhere > 0)
    heap_.notes.push_back(fmt::format("{} handles lead to no known object", elsewhere));
}

// Static fields are the elements of arrays on the pinned heap that the runtime holds by handles.
void Roots::add_unnamed_statics() {
  const auto& graph = heap_.graph;
  std::vector<HeapSegment> pinned;
  for (const auto& segment : heap_.segments)
    if (segment.generation == HeapGeneration::kPinned) pinned.push_back(segment);
  for (const auto array : held_) {
    const auto address = graph.addresses[array];
    if (graph.types[graph.type_of[array]].name != "System.Object[]" ||
        std::ranges::none_of(pinned, [&](const HeapSegment& segment) {
          return segment.start <= address && address < segment.end;
        }))
      continue;
    const auto slots =
        std::min<std::uint64_t>(memory_.get<std::uint32_t>(address + 8).value_or(0), kMostSlots);
    for (std::uint64_t i = 0; i < slots; ++i) {
      const auto place = address + kArrayData + i * 8;
      if (!static_places_.contains(place))
        add_address(RootKind::kStatic, memory_.pointer(place).value_or(0),
                    "static field (unnamed)");
    }
  }
}

void Roots::add_finalizers() {
  const auto queue = read_finalizers(target_, gc_);
  if (!queue) return note("the finalizer queue is not among the roots", queue.error());
  heap_.finalizable = queue->registered;
  heap_.to_finalize = queue->due.size();
  for (const auto object : queue->due) add_address(RootKind::kFinalizer, object, "finalizer queue");
}

// Nothing collects them: literals, types, constants.
void Roots::add_frozen() {
  std::uint32_t object = 0;
  for (const auto& segment : heap_.segments) {
    const auto after = object + static_cast<std::uint32_t>(segment.objects);
    if (segment.generation == HeapGeneration::kFrozen)
      for (auto i = object; i < after; ++i) add(RootKind::kOther, i, "frozen heap");
    object = after;
  }
}

void Roots::add_stacks(const std::vector<RuntimeThread>& threads) {
  auto walker = Walker::of(target_, &reader_);
  if (!walker) return note("stacks are not among the roots", walker.error());
  const auto stacks = take_stacks(target_, **walker, StopPolicy::kNever);
  if (!stacks) return note("stacks are not among the roots", stacks.error());
  std::set<std::uint32_t> managed;
  for (const auto& thread : threads) managed.insert(thread.os_id);
  std::uint64_t missing = 0;
  for (const auto& thread : stacks->threads) {
    if (!managed.contains(static_cast<std::uint32_t>(thread.os.namespace_tid))) continue;
    if (thread.stack.bytes.empty()) ++missing;
    add_stack(thread);
  }
  if (missing > 0)
    heap_.notes.push_back(fmt::format(
        "the stacks of {} threads cannot be read: what only they refer to has no root", missing));
  heap_.notes.emplace_back(
      "stack roots: every word of a stack that is an object's address counts as a reference");
}

void Roots::add_stack(const ThreadStack& thread) {
  const auto& frames = thread.walked.frames;
  const auto title = fmt::format("{}{}", kThread, thread.os.namespace_tid);
  // What a method has in registers, the functions that it calls have saved: their words are its.
  std::vector<std::string> owners(frames.size());
  std::string owner;
  for (auto i = frames.size(); i-- > 0;) {
    if (auto method = method_at(frames[i]); !method.empty()) owner = std::move(method);
    owners[i] = owner;
  }
  std::set<std::pair<std::uint32_t, std::size_t>> seen;
  std::size_t frame = 0;
  const auto look = [&](std::uint64_t word, bool inside) {
    if (word == 0) return;
    auto object = index_.number_of(word);
    if (object == ObjectIndex::kNone && inside) object = object_around(word);
    if (object == ObjectIndex::kNone || !seen.emplace(object, frame).second) return;
    const bool named = frame < owners.size() && !owners[frame].empty();
    add(RootKind::kStack, object, named ? fmt::format("{}: {}", title, owners[frame]) : title);
  };
  for (const auto value : thread.os.registers.values) look(value, true);
  const auto& bytes = thread.stack.bytes;
  for (std::size_t at = 0; at + 8 <= bytes.size(); at += 8) {
    const auto address = thread.stack.address + at;
    if (!frames.empty() && address < frames[0].sp) continue;  // what returned calls left
    while (frame + 1 < frames.size() && address >= frames[frame + 1].sp) ++frame;
    std::uint64_t word = 0;
    std::memcpy(&word, bytes.data() + at, sizeof word);
    const bool in_managed = frame < frames.size() && !method_at(frames[frame]).empty();
    look(word, in_managed);
  }
}

// Empty: no managed code.
std::string Roots::method_at(const unwind::Frame& frame) {
  const auto [known, is_new] = methods_.try_emplace(frame.lookup_pc());
  if (is_new)
    if (const auto method = reader_.method_at(frame.lookup_pc()))
      known->second = method->name.substr(0, method->name.find('('));
  return known->second;
}

std::uint32_t Roots::object_around(std::uint64_t address) const {
  const auto& addresses = heap_.graph.addresses;
  const auto after = std::ranges::upper_bound(addresses, address);
  if (after == addresses.begin()) return ObjectIndex::kNone;
  const auto object = static_cast<std::uint32_t>(after - addresses.begin() - 1);
  return address - addresses[object] < heap_.graph.size_of(object) ? object : ObjectIndex::kNone;
}

}  // namespace clrscope::inspect
