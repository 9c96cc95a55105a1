#include "store/sqlite/chunk_stacks.h"

#include <algorithm>

#include "store/sqlite/chunk_blob.h"

namespace clrscope::store {
namespace {

constexpr std::size_t kPage = 8192;  // spans

Failure damaged() { return fail(Errc::kCorrupt, "the call paths of a chunk are damaged"); }

template <class T>
std::vector<T> part_of(const std::vector<T>& column, std::size_t first, std::size_t count) {
  const auto begin = column.begin() + static_cast<std::ptrdiff_t>(first);
  return {begin, begin + static_cast<std::ptrdiff_t>(count)};
}

template <class T>
void append(std::vector<T>& to, const std::vector<T>& more) {
  to.insert(to.end(), more.begin(), more.end());
}

// Adds a page of `count` spans.
Result<> take_page(BlobLayout layout, ByteReader& in, std::uint32_t count, bool high,
                   ChunkStacks& to) {
  ChunkStacks page;
  take_column(layout, in, count, page.path);
  take_column(layout, in, count, page.self_low);
  if (high) take_column(layout, in, count, page.self_high);
  if (!in.ok() || !in.at_end()) return damaged();
  // One page may have high parts and another none.
  if (high) to.self_high.resize(to.path.size());
  append(to.path, page.path);
  append(to.self_low, page.self_low);
  append(to.self_high, page.self_high);
  if (!to.self_high.empty()) to.self_high.resize(to.path.size());
  return {};
}

Result<ChunkStacks> read_plain_stacks(Bytes blob) {
  const auto [layout, plain] = TRY(unpack_blob(blob));
  ByteReader in{as_bytes(plain)};
  const auto count = in.read<std::uint32_t>();
  const auto high = in.read<std::uint32_t>();
  ChunkStacks stacks;
  TRY(take_page(layout, in, count, high != 0, stacks));
  return stacks;
}

}  // namespace

std::string pack_stacks(const ChunkStacks& stacks, int zstd_level) {
  ByteWriter lengths, pages;
  for (std::size_t first = 0; first < stacks.path.size(); first += kPage) {
    const auto count = std::min(kPage, stacks.path.size() - first);
    const auto high = part_of(stacks.self_high, first, count);
    const bool any = std::any_of(high.begin(), high.end(), [](auto value) { return value != 0; });
    ByteWriter page;
    page.write(std::uint8_t{any ? std::uint8_t{1} : std::uint8_t{0}});
    put_planes(page, part_of(stacks.path, first, count));
    put_planes(page, part_of(stacks.self_low, first, count));
    if (any) put_planes(page, high);
    const auto packed = zstd_block(page.bytes(), zstd_level);
    lengths.write_varuint(packed.size());
    pages.put(packed);
  }
  ByteWriter out;
  out.write(BlobLayout::kPlanes);
  out.write_varuint(stacks.path.size());
  out.write_varuint(kPage);
  out.put(lengths.bytes());
  out.put(pages.bytes());
  return std::string{as_text(out.bytes())};
}

Result<ChunkStacks> read_stacks(Bytes blob, std::uint64_t first, std::uint64_t count) {
  ByteReader in{blob};
  if (in.read<BlobLayout>() != BlobLayout::kPlanes) return read_plain_stacks(blob);
  const auto spans = in.read_varuint(), page = in.read_varuint();
  if (!in.ok() || page == 0 || page > (1U << 28U)) return damaged();
  std::vector<std::uint64_t> lengths;
  for (std::uint64_t at = 0; at < spans && in.ok(); at += page)
    lengths.push_back(in.read_varuint());
  ChunkStacks stacks;
  stacks.first = std::min(first, spans) / page * page;
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    const auto bytes = in.take(lengths[i]);
    const auto begin = i * page;
    if (!in.ok()) return damaged();
    if (begin < stacks.first || begin >= first + count) continue;
    const auto size = static_cast<std::uint32_t>(std::min(page, spans - begin));
    const auto plain = TRY(read_zstd_block(bytes, 1 + 12 * page));
    ByteReader columns{as_bytes(plain)};
    const bool high = columns.read<std::uint8_t>() != 0;
    TRY(take_page(BlobLayout::kPlanes, columns, size, high, stacks));
  }
  if (!in.ok() || !in.at_end()) return damaged();
  return stacks;
}

Result<ChunkStacks> read_stacks(Bytes blob) { return read_stacks(blob, 0, ~std::uint64_t{0}); }

}  // namespace clrscope::store
