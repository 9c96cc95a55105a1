#include "inspect/pool.h"

#include <algorithm>

namespace clrscope::inspect {
namespace {

constexpr std::size_t kMostSegments = 100'000;
// A segment keeps both ends apart, each on a cache line of its own, inside of one value.
constexpr std::uint64_t kHeadAt = 64;
constexpr std::uint64_t kTailAt = 128;

bool works_for_pool(const Frame& frame) {
  return frame.method.starts_with("System.Threading.PortableThreadPool") ||
         frame.method.starts_with("System.Threading.ThreadPoolWorkQueue.");
}

// The object of a type on the stack of a thread that works for the pool.
std::uint64_t find_object(const Snapshot& seen, const std::vector<StackImage>& stacks,
                          Objects& objects, std::string_view type_name) {
  for (std::size_t i = 0; i < seen.threads.size(); ++i) {
    const auto& frames = seen.threads[i].frames;
    if (std::ranges::none_of(frames, works_for_pool)) continue;
    // All of it: what the pool's methods hold in registers, any method further in may have saved.
    const unwind::StackCopy stack{stacks[i].address, stacks[i].bytes};
    std::uint64_t word = 0;
    for (auto at = frames.front().sp; stack.read(at, word); at += 8)
      if (const auto* type = objects.type_of(word); type && type->name == type_name) return word;
  }
  return 0;
}

std::optional<std::uint32_t> short_field(Objects& objects, std::uint64_t object,
                                         std::string_view name) {
  const auto value = objects.field<std::int16_t>(object, name);
  if (!value || *value < 0) return std::nullopt;
  return static_cast<std::uint32_t>(*value);
}

std::uint32_t segment_length(Objects& objects, std::uint64_t segment) {
  const auto* type = objects.type_of(segment);
  const auto* ends = type ? type->field("_headAndTail") : nullptr;
  const auto slots = objects.length(objects.reference(segment, "_slots")).value_or(0);
  if (!ends || slots == 0 || (slots & (slots - 1)) != 0) return 0;
  const auto head = objects.memory().get<std::uint32_t>(segment + ends->offset + kHeadAt);
  const auto tail = objects.memory().get<std::uint32_t>(segment + ends->offset + kTailAt);
  // A segment that takes no more items has its tail moved by twice its size.
  if (!head || !tail || *head == *tail || *head == *tail - slots * 2) return 0;
  const auto from = *head & (slots - 1);
  const auto to = *tail & (slots - 1);
  return from < to ? to - from : slots - from + to;
}

}  // namespace

std::optional<std::uint32_t> queue_length(Objects& objects, std::uint64_t queue) {
  auto segment = objects.reference(queue, "_head");
  if (segment == 0) return std::nullopt;
  std::uint32_t all = 0;
  for (std::size_t i = 0; segment != 0 && i < kMostSegments; ++i) {
    all += segment_length(objects, segment);
    segment = objects.reference(segment, "_nextSegment");
  }
  return all;
}

std::optional<Pool> find_pool(const Snapshot& seen, const std::vector<StackImage>& stacks,
                              Objects& objects) {
  const auto is_worker = [](const ThreadView& t) { return t.runtime && t.runtime->pool; };
  const auto workers = std::ranges::count_if(seen.threads, is_worker);
  const auto object = find_object(seen, stacks, objects, "System.Threading.PortableThreadPool");
  if (object == 0 && workers == 0) return std::nullopt;
  Pool pool;
  pool.workers = static_cast<std::uint32_t>(workers);
  pool.min_workers = short_field(objects, object, "_minThreads");
  pool.max_workers = short_field(objects, object, "_maxThreads");
  pool.blocked = short_field(objects, object, "_numBlockedThreads");
  pool.added_for_blocking = short_field(objects, object, "_numThreadsAddedDueToBlocking");
  auto work = find_object(seen, stacks, objects, "System.Threading.ThreadPoolWorkQueue");
  if (work == 0)
    work = objects.reference(
        find_object(seen, stacks, objects, "System.Threading.ThreadPoolWorkQueueThreadLocals"),
        "workQueue");
  for (const auto* name : {"workItems", "_workItems", "highPriorityWorkItems",
                           "_highPriorityWorkItems", "lowPriorityWorkItems"})
    if (const auto length = queue_length(objects, objects.reference(work, name)))
      pool.queued = pool.queued.value_or(0) + *length;
  return pool;
}

}  // namespace clrscope::inspect
