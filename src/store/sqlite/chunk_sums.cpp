#include "store/sqlite/chunk_sums.h"

#include <algorithm>
#include <bit>
#include <map>
#include <tuple>

#include "store/sqlite/chunk_blob.h"

namespace clrscope::store {
namespace {

constexpr std::size_t kWorthwhile = 4;  // spans per sum, at least

struct Sum {
  std::uint64_t key = 0;  // group and path
  std::uint64_t calls = 0;
  std::uint64_t self = 0;
};

// By group and path; gives up when there are too many.
class SumTable {
 public:
  explicit SumTable(std::size_t most)
      : most_(most),
        sums_(std::bit_ceil(2 * most + 2)),
        shift_(64 - std::countr_zero(sums_.size())) {}

  bool add(std::uint32_t group, std::uint32_t path, std::uint64_t self) {
    const auto key = std::uint64_t{group} << 32U | path;
    auto at = key * 0x9e3779b97f4a7c15U >> shift_;
    while (sums_[at].calls != 0 && sums_[at].key != key) at = (at + 1) & (sums_.size() - 1);
    auto& sum = sums_[at];
    if (sum.calls == 0 && ++used_ > most_) return false;
    sum.key = key;
    ++sum.calls;
    sum.self += self;
    return true;
  }

  std::vector<Sum> sorted() const {
    std::vector<Sum> found;
    found.reserve(used_);
    for (const auto& sum : sums_)
      if (sum.calls != 0) found.push_back(sum);
    std::sort(found.begin(), found.end(), [](const Sum& a, const Sum& b) { return a.key < b.key; });
    return found;
  }

 private:
  std::size_t most_, used_ = 0;
  std::vector<Sum> sums_;  // calls 0: free
  int shift_;
};

enum class Sources { kEach, kTogether };

void write_group(const SumGroup& group, std::span<const Sum> sums, ByteWriter& out) {
  for (const auto number : {group.source, group.method, group.route}) out.write_varuint(number);
  for (const auto number : {group.requests, group.shortest, group.longest})
    out.write_varuint(number);
  ByteWriter paths;
  std::uint32_t before = 0;
  for (const auto& sum : sums) {
    const auto path = static_cast<std::uint32_t>(sum.key);
    paths.write_varuint(path - before);
    paths.write_varuint(sum.calls);
    paths.write_varuint(sum.self);
    before = path;
  }
  out.write_varuint(paths.size());
  out.put(paths.bytes());
}

std::string make_sums(const ChunkHead& head, const std::vector<std::uint32_t>& counts,
                      const ChunkStacks& stacks, Sources sources, int zstd_level) {
  std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>, std::uint32_t> numbers;
  std::vector<SumGroup> groups;
  SumTable table{stacks.path.size() / kWorthwhile};
  std::size_t span = 0;
  for (std::size_t at = 0; at < head.size(); ++at) {
    if (counts[at] == 0) continue;
    const auto source = sources == Sources::kEach ? head.source[at] : SumGroup::kAnySource;
    const auto [found, is_new] = numbers.try_emplace({source, head.method[at], head.route[at]},
                                                     static_cast<std::uint32_t>(groups.size()));
    if (is_new)
      groups.push_back({.source = source,
                        .method = head.method[at],
                        .route = head.route[at],
                        .shortest = ~std::uint64_t{0}});
    auto& group = groups[found->second];
    ++group.requests;
    group.shortest = std::min(group.shortest, head.duration[at]);
    group.longest = std::max(group.longest, head.duration[at]);
    for (const auto end = span + counts[at]; span < end; ++span)
      if (!table.add(found->second, stacks.path[span], stacks.self(span))) return {};
  }
  const auto sums = table.sorted();
  ByteWriter out;
  out.write_varuint(groups.size());
  auto first = sums.begin();
  for (std::uint32_t i = 0; i < groups.size(); ++i) {
    const auto last =
        std::find_if(first, sums.end(), [&](const Sum& sum) { return sum.key >> 32U != i; });
    write_group(groups[i], {first, last}, out);
    first = last;
  }
  return pack_blob(out.bytes(), zstd_level);
}

}  // namespace

std::string make_sums(const ChunkHead& head, const std::vector<std::uint32_t>& counts,
                      const ChunkStacks& stacks, int zstd_level) {
  if (auto each = make_sums(head, counts, stacks, Sources::kEach, zstd_level); !each.empty())
    return each;
  return make_sums(head, counts, stacks, Sources::kTogether, zstd_level);
}

Result<ChunkSums> ChunkSums::read(Bytes blob) {
  const auto unpacked = TRY(unpack_blob(blob));
  const auto bytes = as_bytes(unpacked.plain);
  ChunkSums sums;
  sums.plain_.assign(bytes.begin(), bytes.end());
  ByteReader in{sums.plain_};
  const auto number = [&] { return static_cast<std::uint32_t>(in.read_varuint()); };
  for (auto groups = in.read_varuint(); groups > 0 && in.ok(); --groups) {
    SumGroup group{.source = number(), .method = number(), .route = number()};
    group.requests = in.read_varuint();
    group.shortest = in.read_varuint();
    group.longest = in.read_varuint();
    group.paths = in.take(in.read_varuint());
    sums.groups_.push_back(group);
  }
  if (!in.ok() || !in.at_end()) return fail(Errc::kCorrupt, "the sums of a chunk are damaged");
  return sums;
}

}  // namespace clrscope::store
