#include "symbols/bundle.h"

#include <algorithm>
#include <array>

#include "base/inflate.h"

namespace clrscope {
namespace {

// Every host of a bundle has it, behind the place of the header.
constexpr std::array<std::uint8_t, 32> kMark{
    0x8b, 0x12, 0x02, 0xb9, 0x6a, 0x61, 0x20, 0x38, 0x72, 0x7b, 0x93, 0x02, 0x14, 0xd7, 0xa0, 0x32,
    0x13, 0xf5, 0xb9, 0xe6, 0xef, 0xae, 0x33, 0x18, 0xee, 0x3b, 0x2d, 0xce, 0x24, 0xb3, 0x6a, 0xae};
constexpr std::size_t kLargestHost = 64 << 20;  // 12 MB with the runtime in it
constexpr std::uint32_t kFirstVersion = 2;
constexpr std::uint32_t kPackedFrom = 6;
constexpr std::uint32_t kMostFiles = 100'000;
constexpr std::uint64_t kMostBytes = 512 << 20;

struct Entry {
  std::uint64_t offset = 0;
  std::uint64_t size = 0;
  std::uint64_t packed_size = 0;  // 0: not packed
  std::string_view path{};
};

std::string_view read_text(ByteReader& in) { return as_text(in.take(in.read_varuint())); }

Entry read_entry(ByteReader& in, std::uint32_t version) {
  Entry entry;
  entry.offset = in.read<std::uint64_t>();
  entry.size = in.read<std::uint64_t>();
  if (version >= kPackedFrom) entry.packed_size = in.read<std::uint64_t>();
  in.skip(1);  // what kind of file
  entry.path = read_text(in);
  return entry;
}

Bytes header_of(Bytes program) {
  const auto at =
      as_text(program.first(std::min(program.size(), kLargestHost))).find(as_text(kMark));
  if (at == std::string_view::npos || at < 8) return {};
  const auto header = ByteReader{program.subspan(at - 8, 8)}.read<std::uint64_t>();
  return header == 0 || header >= program.size() ? Bytes{} : program.subspan(header);
}

Result<std::vector<std::uint8_t>> unpack(Bytes program, const Entry& entry) {
  const auto stored = entry.packed_size == 0 ? entry.size : entry.packed_size;
  if (entry.size > kMostBytes || entry.offset > program.size() ||
      stored > program.size() - entry.offset)
    return fail(Errc::kCorrupt, "{}: {} bytes at {} run past the program that contains it",
                entry.path, stored, entry.offset);
  const auto bytes = program.subspan(entry.offset, stored);
  if (entry.packed_size != 0) return inflate_piece(Packing::kDeflate, bytes, entry.size);
  return std::vector<std::uint8_t>{bytes.begin(), bytes.end()};
}

}  // namespace

Result<std::vector<std::uint8_t>> file_in_bundle(Bytes program, std::string_view name) {
  ByteReader in{header_of(program)};
  const auto version = in.read<std::uint32_t>();
  in.skip(4);  // the version's second part
  const auto count = in.read<std::uint32_t>();
  (void)read_text(in);  // the bundle's id
  in.skip(5 * 8);       // two files that the host itself reads, flags
  if (!in.ok() || version < kFirstVersion)
    return fail(Errc::kNotFound, "it is not a single-file program");
  for (std::uint32_t i = 0; i < std::min(count, kMostFiles) && in.ok(); ++i)
    if (const auto entry = read_entry(in, version); in.ok() && entry.path == name)
      return unpack(program, entry);
  return fail(Errc::kNotFound, "it does not contain {}", name);
}

}  // namespace clrscope
