#include "inspect/heap/handles.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <span>
#include <unordered_set>

namespace clrscope::inspect {
namespace {

constexpr std::array<std::uint64_t, 2> kFirstSegmentAt{48, 56};  // in a table: .NET 8 and 9, 10
constexpr std::size_t kSegmentBytes = 0x10000, kHeaderBytes = 0x1000;
constexpr std::size_t kBlockHandles = 64;
constexpr std::size_t kBlocks = (kSegmentBytes - kHeaderBytes) / (kBlockHandles * 8);
// In the header of a segment: 4 bytes of age for each block, a byte of links, then this.
constexpr std::size_t kFreeAt = kBlocks * 5;                             // a bit for each handle
constexpr std::size_t kTypesAt = kFreeAt + kBlocks * kBlockHandles / 8;  // a byte for each block
constexpr std::size_t kExtraAt = kTypesAt + kBlocks;  // likewise: its second block
// 6 bytes for each sort of handle follow, then a link to the next segment and one to the table.
constexpr std::size_t kSortsAt = kExtraAt + 2 * kBlocks;
constexpr std::size_t kSortBytes = 6, kLeastSorts = 12, kMostSorts = kHandleKinds + 1;

constexpr std::size_t kMostMaps = 64, kMostBuckets = 64, kMostTables = 1024;
constexpr std::size_t kMostSegments = 1 << 14;  // 125 million handles

template <class T>
T get(const std::vector<std::uint8_t>& bytes, std::size_t at) {
  T value{};
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

class HandleReader {
 public:
  explicit HandleReader(Target& target) : memory_(target.memory()) {}

  Result<std::vector<Handle>> read(const GcState& gc) {
    struct Map {
      std::uint64_t buckets, next;
      std::uint32_t most;
    };
    auto at = gc.handle_tables;
    for (std::size_t i = 0; at != 0 && i < kMostMaps; ++i) {
      const auto map = memory_.get<Map>(at);
      if (!map) break;
      for (std::size_t bucket = 0; bucket < kMostBuckets; ++bucket) {
        const auto one = memory_.pointer(map->buckets + bucket * 8).value_or(0);
        if (one != 0) read_bucket(one);
      }
      at = map->next;
    }
    if (tables_ == 0)
      return fail(Errc::kUnsupported, "the collector's handle tables are not known");
    return std::move(found_);
  }

 private:
  void read_bucket(std::uint64_t bucket) {
    const auto tables = memory_.pointer(bucket).value_or(0);
    for (std::size_t i = 0; tables != 0 && i < kMostTables; ++i) {
      const auto table = memory_.pointer(tables + i * 8).value_or(0);
      if (table == 0 || table % 8 != 0 || !read_table(table)) return;
    }
  }

  bool read_table(std::uint64_t table) {
    return std::ranges::any_of(kFirstSegmentAt, [&](std::uint64_t at) {
      const auto first = memory_.pointer(table + at).value_or(0);
      return first != 0 && read_segments(table, first);
    });
  }

  bool read_segments(std::uint64_t table, std::uint64_t at) {
    bool any = false;
    while (at != 0 && seen_.size() < kMostSegments && seen_.insert(at).second) {
      auto bytes = memory_.block(at, kHeaderBytes);
      if (bytes.empty()) break;
      bytes.resize(kSegmentBytes);
      read_values(at, bytes);
      auto sorts = kLeastSorts;
      while (sorts <= kMostSorts &&
             get<std::uint64_t>(bytes, kSortsAt + sorts * kSortBytes + 8) != table)
        ++sorts;
      if (sorts > kMostSorts) break;
      any = true;
      read_segment(bytes, sorts - 1);  // the last sort is of second blocks
      at = get<std::uint64_t>(bytes, kSortsAt + sorts * kSortBytes);
    }
    tables_ += any ? 1 : 0;
    return any;
  }

  // What was never used need not be there: a core leaves it out.
  void read_values(std::uint64_t segment, std::vector<std::uint8_t>& bytes) {
    for (auto page = kHeaderBytes; page < kSegmentBytes; page += kHeaderBytes)
      (void)memory_.read(segment + page, std::span{bytes}.subspan(page, kHeaderBytes));
  }

  void read_segment(const std::vector<std::uint8_t>& bytes, std::size_t kinds) {
    for (std::size_t block = 0; block < kBlocks; ++block) {
      const auto kind = bytes[kTypesAt + block];
      if (kind >= kinds) continue;  // unused, or another block's second one
      const auto second = bytes[kExtraAt + block];
      const auto free = get<std::uint64_t>(bytes, kFreeAt + block * 8);
      for (std::size_t i = 0; i < kBlockHandles; ++i) {
        if ((free >> i & 1) != 0) continue;
        const auto object = value_of(bytes, block, i);
        if (object == 0) continue;
        found_.push_back({.kind = static_cast<HandleKind>(kind),
                          .object = object,
                          .extra = second < kBlocks ? value_of(bytes, second, i) : 0});
      }
    }
  }

  static std::uint64_t value_of(const std::vector<std::uint8_t>& bytes, std::size_t block,
                                std::size_t number) {
    return get<std::uint64_t>(bytes, kHeaderBytes + (block * kBlockHandles + number) * 8);
  }

  Memory memory_;
  std::vector<Handle> found_;
  std::unordered_set<std::uint64_t> seen_;
  std::size_t tables_ = 0;
};

}  // namespace

std::string_view name_of(HandleKind kind) {
  static constexpr std::array<std::string_view, kHandleKinds> kNames{
      "weak",      "weak long",       "strong",        "pinned",
      "variable",  "ref-counted",     "dependent",     "async pinned",
      "sized ref", "weak native COM", "weak interior", "cross reference"};
  return kNames[static_cast<std::size_t>(kind)];
}

Result<std::vector<Handle>> read_handles(Target& target, const GcState& gc) {
  return HandleReader{target}.read(gc);
}

}  // namespace clrscope::inspect
