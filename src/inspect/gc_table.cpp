#include "inspect/gc_table.h"

#include <algorithm>
#include <optional>

#include "inspect/elf_image.h"

namespace clrscope::inspect {
namespace {

constexpr std::size_t kMostEntries = 256;  // of g_dacTable; 129 to 158 were seen

// Where the table has the addresses of the collector's variables.
constexpr std::uint64_t kGenerationTable = 48;  // of the workstation collector's only heap
constexpr std::uint64_t kHeapCount = 176, kHeaps = 184;
constexpr std::uint64_t kInvalidCounter = 192;
constexpr std::uint64_t kHeapFields = 240, kGenerationFields = 248;  // offsets, 32 bits each

constexpr std::uint64_t kGenerationsOfHeap = 18, kFirstSegment = 1;  // which of these offsets
constexpr std::uint64_t kPinned = 4;                                 // generation
constexpr std::uint32_t kMostHeaps = 1024;
constexpr std::size_t kMostSegments = 4096;
constexpr std::uint64_t kMostBytes = 4ULL << 30;  // of a segment

struct TableHead {
  std::uint8_t major;
  std::uint8_t minor;
  std::uint8_t zeros[6];
  std::uint64_t generation_size;
  std::uint64_t generations;
};

bool is_gc_table(const TableHead& head) {
  for (const auto zero : head.zeros)
    if (zero != 0) return false;
  return head.major == 2 && head.minor >= 1 && head.minor < 32 && head.generations == 5 &&
         head.generation_size >= 128 && head.generation_size <= 1024;
}

struct Segment {
  std::uint64_t allocated, committed, reserved, used, mem, flags, next;
};

struct GcTable {
  std::uint64_t address = 0;
  TableHead head{};
};

Result<GcTable> find_table(Target& target, Memory& memory) {
  const auto mappings = TRY(target.mappings());
  for (const auto& image : runtime_candidates(mappings)) {
    const auto table = find_dynamic_symbol(memory, image.base, "g_dacTable");
    if (!table) continue;
    for (std::size_t i = 0; i < kMostEntries; ++i) {
      const auto entry = memory.pointer(*table + i * 8);
      if (!entry) break;
      const auto gc = memory.pointer(*entry).value_or(0);  // the entry is where a pointer lies
      const auto head = memory.get<TableHead>(gc);
      if (!head || !is_gc_table(*head)) continue;
      // A count of collectors at work: a large one is something else.
      const auto counter = memory.pointer(gc + kInvalidCounter).value_or(0);
      if (const auto value = memory.get<std::uint32_t>(counter); value && *value < 1024)
        return GcTable{gc, *head};
    }
  }
  return fail(Errc::kNotFound, "process {} has no collector whose state is known", target.pid());
}

// Of each heap, where its generations begin.
std::vector<std::uint64_t> generation_tables(Memory& memory, std::uint64_t gc) {
  if (const auto only = memory.pointer(gc + kGenerationTable).value_or(0)) return {only};
  const auto value_at = [&](std::uint64_t at) { return memory.pointer(gc + at).value_or(0); };
  const auto count = memory.get<std::uint32_t>(value_at(kHeapCount)).value_or(0);
  const auto heaps = memory.pointer(value_at(kHeaps)).value_or(0);
  const auto offset = memory.get<std::int32_t>(value_at(kHeapFields) + kGenerationsOfHeap * 4);
  std::vector<std::uint64_t> found;
  if (heaps == 0 || !offset || *offset <= 0) return found;
  for (std::uint32_t i = 0; i < std::min(count, kMostHeaps); ++i)
    if (const auto heap = memory.pointer(heaps + i * 8).value_or(0))
      found.push_back(heap + static_cast<std::uint64_t>(*offset));
  return found;
}

}  // namespace

Result<std::uint64_t> find_gc_invalid_counter(Target& target) {
  Memory memory{target.memory()};
  const auto table = TRY(find_table(target, memory));
  return memory.pointer(table.address + kInvalidCounter).value_or(0);
}

Result<std::vector<HeapRange>> find_pinned_heap(Target& target) {
  Memory memory{target.memory()};
  const auto [gc, head] = TRY(find_table(target, memory));
  const auto fields = memory.pointer(gc + kGenerationFields).value_or(0);
  const auto first = memory.get<std::int32_t>(fields + kFirstSegment * 4).value_or(-1);
  std::vector<HeapRange> ranges;
  for (const auto generations : generation_tables(memory, gc)) {
    if (first < 0) break;
    const auto pinned = generations + kPinned * head.generation_size;
    auto at = memory.pointer(pinned + static_cast<std::uint64_t>(first)).value_or(0);
    while (at != 0 && ranges.size() < kMostSegments) {
      const auto segment = memory.get<Segment>(at);
      if (!segment || segment->mem > segment->allocated ||
          segment->allocated - segment->mem > kMostBytes)
        break;
      if (segment->mem < segment->allocated) ranges.push_back({segment->mem, segment->allocated});
      at = segment->next;
    }
  }
  if (ranges.empty())
    return fail(Errc::kNotFound, "the pinned object heap of process {} is not found", target.pid());
  return ranges;
}

}  // namespace clrscope::inspect
