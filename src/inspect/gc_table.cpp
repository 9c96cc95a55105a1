#include "inspect/gc_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <unordered_set>

#include "inspect/elf_image.h"

namespace clrscope::inspect {
namespace {

constexpr std::size_t kMostEntries = 256;  // of g_dacTable; 129 to 158 were seen

// Where the table has the addresses of the collector's variables.
constexpr std::uint64_t kGenerationTable = 48;  // of the workstation collector's only heap
constexpr std::uint64_t kYoungSegment = 80, kAllocated = 120, kFinalizers = 144;  // likewise
constexpr std::uint64_t kHeapCount = 176, kHeaps = 184;
constexpr std::uint64_t kInvalidCounter = 192;
constexpr std::uint64_t kHandleTables = 232;
constexpr std::uint64_t kHeapFields = 240, kGenerationFields = 248;  // offsets, 32 bits each

// Which of these offsets; one that the collector has not is negative.
constexpr std::uint64_t kAllocatedOfHeap = 0, kYoungSegmentOfHeap = 1, kFinalizersOfHeap = 2;
constexpr std::uint64_t kGenerationsOfHeap = 18;
constexpr std::uint64_t kContext = 0, kFirstSegment = 1, kFirstObject = 2;

constexpr std::uint32_t kMostHeaps = 1024;
constexpr std::size_t kMostSegments = 1 << 18;    // a terabyte in regions
constexpr std::uint64_t kMostBytes = 1ULL << 42;  // of a segment
constexpr std::uint64_t kReadOnly = 1;            // flag of a segment: frozen
constexpr std::uint64_t kGenerations = 5;

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
  return head.major == 2 && head.minor < 32 && head.generations == kGenerations &&
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

// Reads the state of the one heap of the workstation collector, or of each of the server's.
class StateReader {
 public:
  StateReader(Memory& memory, const GcTable& table) : memory_(memory), table_(table) {}

  Result<GcState> read() {
    state_.collecting = memory_.get<std::uint32_t>(slot(kInvalidCounter)).value_or(0);
    state_.handle_tables = slot(kHandleTables);
    first_segment_ = generation_field(kFirstSegment);
    context_ = generation_field(kContext);
    first_object_ = generation_field(kFirstObject);
    if (!first_segment_) return fail(Errc::kUnsupported, "the collector's heap has no known form");
    state_.regions = !first_object_;
    if (const auto only = slot(kGenerationTable)) {
      read_heap({.generations = only,
                 .young = memory_.pointer(slot(kYoungSegment)).value_or(0),
                 .allocated = memory_.pointer(slot(kAllocated)).value_or(0),
                 .finalizers = memory_.pointer(slot(kFinalizers)).value_or(0)},
                0);
    } else {
      read_server_heaps();
    }
    order();
    return std::move(state_);
  }

 private:
  struct Heap {
    std::uint64_t generations = 0;
    std::uint64_t young = 0;      // segment that the next objects come into
    std::uint64_t allocated = 0;  // its end
    std::uint64_t finalizers = 0;
  };

  // Where a variable lies.
  std::uint64_t slot(std::uint64_t at) { return memory_.pointer(table_.address + at).value_or(0); }
  std::optional<std::uint64_t> offset_at(std::uint64_t list, std::uint64_t number) {
    const auto offset = memory_.get<std::int32_t>(slot(list) + number * 4);
    if (!offset || *offset < 0 || *offset > 1 << 20) return {};
    return static_cast<std::uint64_t>(*offset);
  }
  std::optional<std::uint64_t> generation_field(std::uint64_t number) {
    return offset_at(kGenerationFields, number);
  }

  void read_server_heaps() {
    state_.server = true;
    const auto count = memory_.get<std::uint32_t>(slot(kHeapCount)).value_or(0);
    const auto heaps = memory_.pointer(slot(kHeaps)).value_or(0);
    const auto generations = offset_at(kHeapFields, kGenerationsOfHeap);
    const auto allocated = offset_at(kHeapFields, kAllocatedOfHeap);
    const auto young = offset_at(kHeapFields, kYoungSegmentOfHeap);
    const auto finalizers = offset_at(kHeapFields, kFinalizersOfHeap);
    if (heaps == 0 || count == 0 || count > kMostHeaps || !generations || !allocated || !young) {
      state_.notes.push_back(fmt::format("the collector's list of {} heaps is invalid", count));
      return;
    }
    state_.heaps = count;
    for (std::uint32_t i = 0; i < count; ++i) {
      const auto heap = memory_.pointer(heaps + i * 8).value_or(0);
      if (heap == 0) continue;
      const auto word = [&](std::optional<std::uint64_t> at) {
        return at ? memory_.pointer(heap + *at).value_or(0) : 0;
      };
      read_heap({.generations = heap + *generations,
                 .young = word(young),
                 .allocated = word(allocated),
                 .finalizers = word(finalizers)},
                i);
    }
  }

  void read_heap(const Heap& heap, std::uint32_t number) {
    if (heap.finalizers != 0) state_.finalizers.push_back(heap.finalizers);
    for (std::uint64_t i = 0; i < kGenerations; ++i) {
      const auto generation = heap.generations + i * table_.head.generation_size;
      if (context_) {
        const auto context = memory_.get<HeapRange>(generation + *context_);
        if (context && context->start != 0 && context->start <= context->end)
          state_.contexts.push_back(*context);
      }
      // The young generations have segments of their own only where there are regions.
      if (i < 2 && !state_.regions) continue;
      read_segments(heap, number, generation, static_cast<HeapGeneration>(i));
    }
  }

  void read_segments(const Heap& heap, std::uint32_t number, std::uint64_t generation,
                     HeapGeneration kind) {
    auto at = memory_.pointer(generation + *first_segment_).value_or(0);
    while (at != 0) {
      if (!seen_.insert(at).second || seen_.size() > kMostSegments) {
        state_.notes.push_back(
            fmt::format("the collector's list of segments runs in a circle at {:#x}", at));
        return;
      }
      const auto segment = memory_.get<Segment>(at);
      const auto end = !segment ? 0 : at == heap.young ? heap.allocated : segment->allocated;
      if (!segment || segment->mem % 8 != 0 || segment->mem > end ||
          end - segment->mem > kMostBytes) {
        state_.notes.push_back(fmt::format("the collector's segment at {:#x} makes no sense", at));
        return;
      }
      GcSegment one{.start = segment->mem, .end = end, .generation = kind, .heap = number};
      one.committed = segment->committed > one.start ? segment->committed - one.start : 0;
      if (one.committed > kMostBytes) one.committed = 0;
      if ((segment->flags & kReadOnly) != 0) one.generation = HeapGeneration::kFrozen;
      if (at == heap.young && !state_.regions)
        split(one, heap);
      else if (one.start < one.end)
        state_.segments.push_back(one);
      at = segment->next;
    }
  }

  // The segment with the young generations: old objects first, then generation 1, then 0.
  void split(const GcSegment& whole, const Heap& heap) {
    auto start = whole.start;
    for (const auto kind : {HeapGeneration::kGen2, HeapGeneration::kGen1, HeapGeneration::kGen0}) {
      auto end = whole.end;
      if (kind != HeapGeneration::kGen0) {
        const auto younger = static_cast<std::uint64_t>(kind) - 1;
        end =
            memory_
                .pointer(heap.generations + younger * table_.head.generation_size + *first_object_)
                .value_or(0);
        if (end < start || end > whole.end) {
          state_.notes.emplace_back("the collector's young generations are not in their segment");
          end = start;
        }
      }
      auto part = whole;
      part.start = start;
      part.end = end;
      part.generation = kind;
      if (kind != HeapGeneration::kGen0)
        part.committed = end - start;
      else
        part.committed -= std::min(part.committed, start - whole.start);
      if (start < end) state_.segments.push_back(part);
      start = end;
    }
  }

  void order() {
    auto& all = state_.segments;
    std::ranges::sort(all, {}, &GcSegment::start);
    std::uint64_t last = 0;
    std::erase_if(all, [&](const GcSegment& one) {
      if (one.start < last) {
        state_.notes.push_back(
            fmt::format("the collector's segment at {:#x} lies in another one", one.start));
        return true;
      }
      last = one.end;
      return false;
    });
  }

  Memory& memory_;
  GcTable table_;
  GcState state_;
  std::optional<std::uint64_t> first_segment_, context_, first_object_;  // of a generation
  std::unordered_set<std::uint64_t> seen_;                               // segments
};

}  // namespace

Result<std::uint64_t> find_gc_invalid_counter(Target& target) {
  Memory memory{target.memory()};
  const auto table = TRY(find_table(target, memory));
  return memory.pointer(table.address + kInvalidCounter).value_or(0);
}

Result<GcState> read_gc_state(Target& target) {
  Memory memory{target.memory()};
  const auto table = TRY(find_table(target, memory));
  return StateReader{memory, table}.read();
}

Result<std::vector<HeapRange>> find_pinned_heap(Target& target) {
  const auto state = TRY(read_gc_state(target));
  std::vector<HeapRange> ranges;
  for (const auto& segment : state.segments)
    if (segment.generation == HeapGeneration::kPinned)
      ranges.push_back({segment.start, segment.end});
  if (ranges.empty())
    return fail(Errc::kNotFound, "the pinned object heap of process {} is not found", target.pid());
  return ranges;
}

}  // namespace clrscope::inspect
