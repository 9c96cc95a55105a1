#include "inspect/contract/code.h"

#include <algorithm>
#include <array>

#include "unwind/r2r_table.h"

namespace clrscope::inspect {
namespace {

constexpr unsigned kLevels = 5;
constexpr unsigned kLevelBits = 8;
constexpr unsigned kChunkBits = 17;
constexpr std::uint64_t kTag = 1;  // in pointers of the map: of code that may be collected
constexpr int kMostFragments = 4096;
constexpr std::uint32_t kMostFunctions = 1 << 26;
constexpr std::uint32_t kMostUnwinds = 4096;
constexpr std::uint32_t kMostProbes = 256;
constexpr std::uint32_t kMostFunclets = 4096;

constexpr std::uint32_t kIsCodeHeap = 2;
constexpr std::uint32_t kIsRangeList = 4;

// The nibble map: one nibble for 32 bytes of code, the first one highest; eight in a word.
constexpr std::uint64_t kBucketBytes = 32;
constexpr std::uint64_t kWordBytes = kBucketBytes * 8;
constexpr std::uint64_t kStep =
    4;  // a nibble n says: code begins (n - 1) * 4 bytes into the bucket

// A word whose lowest nibble is above 8 says where the code began that fills all of it.
bool is_far(std::uint32_t word) { return (word & 15) > 8; }
std::uint64_t far_start(std::uint32_t word) { return (word & ~15U) + ((word & 15) - 9) * kStep; }

// The last beginning that a word's first `count` nibbles tell, counted from the word's own start.
std::optional<std::uint64_t> last_start(std::uint32_t word, unsigned count) {
  for (auto i = count; i-- > 0;)
    if (const auto nibble = word >> (28 - 4 * i) & 15)
      return i * kBucketBytes + (nibble - 1) * kStep;
  return {};
}

}  // namespace

Result<Code> Code::open(Memory& memory, const Descriptor& descriptor) {
  TRY(descriptor.require("ExecutionManager", 2));
  Code made{memory};
  Needs needs{descriptor};
  made.map_ = needs.variable("ExecutionManagerCodeRangeMapAddress") +
              needs.field("RangeSectionMap", "TopLevelData");
  made.fragment_ = {.begin = needs.field("RangeSectionFragment", "RangeBegin"),
                    .end = needs.field("RangeSectionFragment", "RangeEndOpen"),
                    .section = needs.field("RangeSectionFragment", "RangeSection"),
                    .next = needs.field("RangeSectionFragment", "Next")};
  made.section_ = {.begin = needs.field("RangeSection", "RangeBegin"),
                   .end = needs.field("RangeSection", "RangeEndOpen"),
                   .flags = needs.field("RangeSection", "Flags"),
                   .heap = needs.field("RangeSection", "HeapList"),
                   .module = needs.field("RangeSection", "R2RModule")};
  made.heap_ = {.start = needs.field("CodeHeapListNode", "StartAddress"),
                .end = needs.field("CodeHeapListNode", "EndAddress"),
                .map_base = needs.field("CodeHeapListNode", "MapBase"),
                .map = needs.field("CodeHeapListNode", "HeaderMap")};
  made.header_ = {.method = needs.field("RealCodeHeader", "MethodDesc"),
                  .unwind_count = needs.field("RealCodeHeader", "NumUnwindInfos"),
                  .unwinds = needs.field("RealCodeHeader", "UnwindInfos"),
                  .gc_info = needs.field("RealCodeHeader", "GCInfo")};
  made.ready_ = {.composite = needs.field("ReadyToRunInfo", "CompositeInfo"),
                 .count = needs.field("ReadyToRunInfo", "NumRuntimeFunctions"),
                 .functions = needs.field("ReadyToRunInfo", "RuntimeFunctions"),
                 .entry_points = needs.field("ReadyToRunInfo", "EntryPointToMethodDescMap"),
                 .in_module = needs.field("Module", "ReadyToRunInfo")};
  made.hash_ = {.buckets = needs.field("HashMap", "Buckets"),
                .bucket_size = needs.size("Bucket"),
                .keys = needs.field("Bucket", "Keys"),
                .values = needs.field("Bucket", "Values"),
                .slots = needs.number("HashMapSlotsPerBucket"),
                .mask = needs.number("HashMapValueMask")};
  made.last_stub_kind_ = needs.number("StubCodeBlockLast");
  made.knows_gc_info_ = descriptor.value("GCInfoVersion") == 4;
  const auto function_size = needs.size("RuntimeFunction");
  TRY(needs.met());
  if (function_size != sizeof(Function) || made.hash_.slots > 16)
    return fail(Errc::kUnsupported, "the runtime's tables of functions are unknown");
  return made;
}

std::optional<Code::Range> Code::range_of(std::uint64_t pc) {
  const auto later = std::upper_bound(recent_.begin(), recent_.end(), pc,
                                      [](auto at, const Range& one) { return at < one.begin; });
  if (later != recent_.begin() && pc < std::prev(later)->end) return *std::prev(later);
  if (pc >> (kChunkBits + kLevels * kLevelBits) != 0) return {};
  auto table = map_;
  for (auto level = kLevels; level-- > 0;) {
    const auto index = pc >> (kChunkBits + level * kLevelBits) & 0xff;
    const auto entry = memory_->pointer(table + index * 8);
    if (!entry || (*entry & ~kTag) == 0) return {};
    table = *entry & ~kTag;
  }
  for (int steps = 0; table != 0 && steps < kMostFragments; ++steps) {
    const auto begin = memory_->pointer(table + fragment_.begin);
    const auto end = memory_->pointer(table + fragment_.end);
    const auto section = memory_->pointer(table + fragment_.section);
    const auto next = memory_->pointer(table + fragment_.next);
    if (!begin || !end || !section || !next) return {};
    table = *next & ~kTag;
    if (pc < *begin || pc >= *end) continue;
    const auto from = memory_->pointer(*section + section_.begin);
    const auto to = memory_->pointer(*section + section_.end);
    const auto flags = memory_->get<std::uint32_t>(*section + section_.flags);
    const auto heap = memory_->pointer(*section + section_.heap);
    const auto module = memory_->pointer(*section + section_.module);
    if (!from || !to || !flags || !heap || !module || pc < *from || pc >= *to) return {};
    const Range range{*from, *to, *flags, *heap, *module};
    recent_.insert(later, range);
    return range;
  }
  return {};
}

std::optional<CodeBlock> Code::find(std::uint64_t pc) {
  const auto range = range_of(pc);
  if (!range) return {};
  if ((range->flags & kIsRangeList) != 0) {
    CodeBlock stub;
    stub.kind = CodeBlock::Kind::kStub;
    stub.start = range->begin;
    return stub;
  }
  if ((range->flags & kIsCodeHeap) != 0) return jitted(*range, pc);
  return range->module != 0 ? ready_to_run(*range, pc) : std::nullopt;
}

std::uint64_t Code::jitted_start(const Range& range, std::uint64_t pc) {
  const auto base = memory_->pointer(range.heap + heap_.map_base);
  const auto map = memory_->pointer(range.heap + heap_.map);
  const auto start = memory_->pointer(range.heap + heap_.start);
  const auto end = memory_->pointer(range.heap + heap_.end);
  if (!base || !map || !start || !end || pc < *start || pc >= *end || pc < *base) return 0;
  const auto relative = pc - *base;
  const auto index = relative / kWordBytes;
  const auto word = memory_->get<std::uint32_t>(*map + index * 4);
  if (!word) return 0;
  if (is_far(*word)) return *base + far_start(*word);
  const auto bucket = static_cast<unsigned>(relative / kBucketBytes % 8);
  const auto nibble = *word >> (28 - 4 * bucket) & 15;
  const bool own = nibble != 0 && (nibble - 1) * kStep <= relative % kBucketBytes;
  if (const auto found = last_start(*word, own ? bucket + 1 : bucket))
    return *base + index * kWordBytes + *found;
  if (index == 0) return 0;
  const auto before = memory_->get<std::uint32_t>(*map + (index - 1) * 4);
  if (!before) return 0;
  if (is_far(*before)) return *base + far_start(*before);
  const auto found = last_start(*before, 8);
  return found ? *base + (index - 1) * kWordBytes + *found : 0;
}

std::optional<CodeBlock> Code::jitted(const Range& range, std::uint64_t pc) {
  CodeBlock block;
  block.start = jitted_start(range, pc);
  if (block.start < range.begin + 8 || block.start > pc) return {};
  const auto header = memory_->pointer(block.start - 8);
  if (!header) return {};
  if (*header <= last_stub_kind_) {
    block.kind = CodeBlock::Kind::kStub;
    return block;
  }
  const auto method = memory_->pointer(*header + header_.method);
  const auto count = memory_->get<std::uint32_t>(*header + header_.unwind_count);
  if (!method || *method == 0 || !count || *count > kMostUnwinds) return {};
  block.method_desc = *method;
  block.image_base = range.begin;
  // The first of the header's words, where the collector's is the third; not in the descriptor.
  if (header_.gc_info == 16) block.debug_info = memory_->pointer(*header).value_or(0);
  for (std::uint32_t i = 0; i < *count; ++i) {
    const auto function =
        memory_->get<Function>(*header + header_.unwinds + std::uint64_t{i} * sizeof(Function));
    if (!function) break;
    const auto begin = range.begin + function->begin;
    const auto end = range.begin + function->end;
    if (begin < block.start || end <= begin) break;
    block.size = std::max(block.size, end - block.start);
    if (pc < begin || pc >= end) continue;
    block.function_start = begin;
    block.unwind_info = range.begin + function->unwind;
  }
  if (block.size != 0 && pc >= block.start + block.size) return {};  // in the gap after it
  return block;
}

std::optional<CodeBlock> Code::ready_to_run(const Range& range, std::uint64_t pc) {
  const auto own = memory_->pointer(range.module + ready_.in_module);
  if (!own || *own == 0) return {};
  auto info = memory_->pointer(*own + ready_.composite).value_or(0);
  if (info == 0) info = *own;
  const auto count = memory_->get<std::uint32_t>(info + ready_.count);
  const auto functions = memory_->pointer(info + ready_.functions);
  if (!count || !functions || *count == 0 || *count > kMostFunctions ||
      (pc - range.begin) >> 32 != 0)
    return {};
  const auto relative = static_cast<std::uint32_t>(pc - range.begin);
  const auto begin_of = [&](std::uint32_t i) {
    return memory_->get<std::uint32_t>(*functions + std::uint64_t{i} * sizeof(Function));
  };
  std::uint32_t low = 0;  // the last that begins at or before it
  for (auto left = *count; left > 1;) {
    const auto half = left / 2;
    const auto begin = begin_of(low + half);
    if (!begin) return {};
    if (*begin <= relative) low += half;
    left -= half;
  }
  const auto function = memory_->get<Function>(*functions + std::uint64_t{low} * sizeof(Function));
  if (!function || relative < function->begin || relative >= function->end) return {};
  CodeBlock block;
  block.kind = CodeBlock::Kind::kReadyToRun;
  block.image_base = range.begin;
  block.module = range.module;
  block.function_start = range.begin + function->begin;
  block.unwind_info = range.begin + (function->unwind & ~1U);
  // Funclets follow their method and have no entry of their own.
  for (std::uint32_t back = 0; back < kMostFunclets && back <= low; ++back) {
    const auto begin = begin_of(low - back);
    if (!begin) return {};
    block.method_desc = hashed(info + ready_.entry_points, range.begin + *begin);
    if (block.method_desc == 0) continue;
    block.start = range.begin + *begin;
    block.function = low - back;
    break;
  }
  if (block.method_desc == 0) return {};
  const auto first = memory_->get<Function>(*functions + block.function * sizeof(Function));
  if (first) block.size = ready_to_run_size(range.begin + (first->unwind & ~1U));
  // Methods that were never called are not in the hash: what lies after this one is such a one's.
  if (block.size != 0 && pc - block.start >= block.size) return {};
  return block;
}

// What the collector knows of a method follows its unwind info and begins with its length: a bit
// that says whether there are ten flags or one, the flags, then groups of eight bits, each followed
// by one that says whether more come.
std::uint64_t Code::ready_to_run_size(std::uint64_t unwind_info) {
  if (!knows_gc_info_) return 0;
  const auto slots = memory_->get<std::uint8_t>(unwind_info + 2);
  if (!slots) return 0;
  const auto personality = unwind_info + 4 + std::uint64_t{2} * *slots;
  const auto bits = memory_->pointer((personality + 4 + 3) & ~std::uint64_t{3});
  if (!bits) return 0;
  auto rest = *bits >> ((*bits & 1) != 0 ? 11 : 2);
  std::uint64_t length = 0;
  for (unsigned shift = 0; shift < 32; shift += 8, rest >>= 9) {
    length |= (rest & 0xff) << shift;
    if ((rest & 0x100) == 0) return length;
  }
  return 0;
}

// The runtime's hash map of pointers; 0 when the key is not in it.
std::uint64_t Code::hashed(std::uint64_t map, std::uint64_t key) {
  const auto buckets = memory_->pointer(map + hash_.buckets);
  if (!buckets || *buckets == 0) return 0;
  const auto size = memory_->get<std::uint32_t>(*buckets);
  if (!size || *size < 2) return 0;
  auto seed = static_cast<std::uint32_t>(key >> 2);
  const auto increment = 1 + (static_cast<std::uint32_t>(key >> 5) + 1) % (*size - 1);
  for (std::uint32_t probe = 0; probe < std::min(*size, kMostProbes); ++probe) {
    const auto bucket =
        *buckets + (std::uint64_t{seed % *size} + 1) * hash_.bucket_size;  // the first has the size
    for (std::uint64_t slot = 0; slot < hash_.slots; ++slot) {
      const auto value = memory_->pointer(bucket + hash_.values + 8 * slot);
      if (!value) return 0;
      if (memory_->pointer(bucket + hash_.keys + 8 * slot) == key)
        return (*value & hash_.mask) << 1;
    }
    const auto first = memory_->pointer(bucket + hash_.values);
    if (!first || (*first & ~hash_.mask) == 0) return 0;  // nothing was put further on
    seed += increment;
  }
  return 0;
}

std::optional<unwind::UnwindRule> Code::rule(const CodeBlock& block, std::uint64_t pc) {
  if (block.unwind_info == 0 || pc < block.function_start) return {};
  // 4 bytes, up to 255 slots of 2, and what may follow.
  std::array<std::uint8_t, 4 + 2 * 256 + 12> info{};
  const auto head = memory_->get<std::uint32_t>(block.unwind_info);
  if (!head) return {};
  const std::size_t slots = *head >> 16 & 0xff;
  const std::span<std::uint8_t> used{info.data(), 4 + 2 * (slots + slots % 2) + 12};
  if (!memory_->read(block.unwind_info, used) &&
      !memory_->read(block.unwind_info, used.first(4 + 2 * slots)))
    return {};
  return unwind::rule_of_unwind_codes(used, pc - block.function_start);
}

}  // namespace clrscope::inspect
