#include "inspect/event_sources.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <set>

#include "inspect/gc_table.h"
#include "inspect/objects.h"

namespace clrscope::inspect {
namespace {

// EventListener.s_EventSources
constexpr std::string_view kList =
    "System.Collections.Generic.List`1[System.WeakReference`1[System.Diagnostics.Tracing."
    "EventSource]]";
constexpr int kTries = 4;
constexpr std::size_t kChunk = 1 << 20;
constexpr std::uint64_t kMostBytes = 256 << 20;  // of the pinned heap: pools of buffers lie there
constexpr std::uint32_t kMostSources = 10'000;
constexpr std::uint32_t kMostName = 1024;
constexpr std::uint64_t kElementsAt = 16, kCharactersAt = 12;
constexpr std::uint64_t kHandleBits = 3;  // of a WeakReference's handle, that are not the address

// A list of references has this size since .NET Core 1; and where a method table has the size.
constexpr std::uint32_t kListSize = 32;
constexpr std::uint64_t kSizeAt = 4;
enum class Among : std::uint8_t { kOfThatSize, kAll };

// Whether the runtime is worth asking what it is: that takes long, for thousands of types.
bool has_size_of_list(Objects& objects, std::uint64_t object) {
  if (!objects.may_be_object(object)) return false;
  const auto table = objects.memory().pointer(object);
  return table && objects.memory().get<std::uint32_t>((*table & ~std::uint64_t{7}) + kSizeAt) ==
                      std::optional{kListSize};
}

// Of all objects that static fields refer to, those of the list's type.
std::set<std::uint64_t> find_lists(const std::vector<HeapRange>& ranges, Objects& objects,
                                   Among among) {
  std::set<std::uint64_t> asked, found;
  std::uint64_t left = kMostBytes;
  for (const auto& range : ranges)
    for (auto at = range.start; at < range.end && left > 0; at += kChunk) {
      const auto size = std::min({range.end - at, std::uint64_t{kChunk}, left});
      left -= size;
      const auto bytes = objects.memory().block(at, size);
      for (std::size_t i = 0; i + 8 <= bytes.size(); i += 8) {
        std::uint64_t word = 0;
        std::memcpy(&word, bytes.data() + i, sizeof word);
        if (word == 0 || !asked.insert(word).second) continue;
        if (among == Among::kOfThatSize && !has_size_of_list(objects, word)) continue;
        if (objects.type_name(word) == kList) found.insert(word);
      }
    }
  return found;
}

std::optional<std::string> text_of(Objects& objects, std::uint64_t text) {
  const auto length = objects.length(text);
  if (!length || *length == 0 || *length > kMostName || objects.type_name(text) != "System.String")
    return {};
  return objects.memory().text16(text + kCharactersAt, *length);
}

// Nothing when it makes no sense; an empty text of a source that is no more.
std::optional<std::string> name_behind(Objects& objects, std::uint64_t weak) {
  const auto handle = objects.field<std::uint64_t>(weak, "_taggedHandle");
  if (!handle) return {};
  const auto source = objects.memory().pointer(*handle & ~kHandleBits);
  if (!source) return {};
  if (*source == 0) return "";
  return text_of(objects, objects.reference(*source, "m_name"));
}

EventSources read_list(Objects& objects, std::uint64_t list) {
  EventSources sources;
  const auto items = objects.reference(list, "_items");
  const auto count = objects.field<std::uint32_t>(list, "_size").value_or(0);
  const auto room = objects.length(items).value_or(0);
  const auto readable = std::min({count, room, kMostSources});
  sources.unread = count - readable;
  for (std::uint32_t i = 0; i < readable; ++i) {
    const auto weak = objects.memory().pointer(items + kElementsAt + std::uint64_t{i} * 8);
    auto name = weak ? name_behind(objects, *weak) : std::nullopt;
    if (!name)
      ++sources.unread;
    else if (!name->empty())
      sources.names.push_back(*std::move(name));
  }
  return sources;
}

}  // namespace

Result<EventSources> list_event_sources(Target& target, RuntimeReader& reader) {
  const auto walker = TRY(Walker::of(target, &reader));
  Objects objects{target, reader, *walker};
  std::optional<EventSources> best;
  for (int tries = 0; tries < kTries && (!best || best->unread != 0); ++tries) {
    objects.forget();
    EventSources all;
    const auto heap = TRY(find_pinned_heap(target));
    auto lists = find_lists(heap, objects, Among::kOfThatSize);
    if (lists.empty()) lists = find_lists(heap, objects, Among::kAll);
    for (const auto list : lists) {
      auto sources = read_list(objects, list);
      all.unread += sources.unread;
      for (auto& name : sources.names) all.names.push_back(std::move(name));
    }
    if (!lists.empty() && (!best || all.unread < best->unread)) best = std::move(all);
  }
  if (!best)
    return fail(Errc::kNotFound, "the list of EventSources of process {} is not found",
                target.pid());
  std::ranges::sort(best->names);
  const auto twice = std::ranges::unique(best->names);
  best->names.erase(twice.begin(), twice.end());
  return *std::move(best);
}

}  // namespace clrscope::inspect
