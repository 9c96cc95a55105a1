#include "symbols/portable_pdb.h"

#include <algorithm>
#include <bit>

namespace clrscope {
namespace {

constexpr std::uint32_t kMetadataMagic = 0x424a5342;  // "BSJB"
constexpr std::uint32_t kMethodToken = 0x06;
constexpr std::size_t kDocumentTable = 0x30;
constexpr std::size_t kMethodTable = 0x31;
constexpr std::size_t kLongestPath = 4096;
constexpr std::uint32_t kLastLine = 0x1fffffff;  // what the format can say

// ECMA-335 II.23.2: one, two or four bytes, told by the first one's upper bits.
struct Compressed {
  std::uint32_t value = 0;
  unsigned bits = 0;  // of the value
};
Compressed read_compressed(ByteReader& in) {
  const std::uint32_t first = in.read<std::uint8_t>();
  if ((first & 0x80) == 0) return {first, 7};
  const std::uint32_t second = in.read<std::uint8_t>();
  if ((first & 0x40) == 0) return {(first & 0x3f) << 8 | second, 14};
  const std::uint32_t third = in.read<std::uint8_t>();
  const std::uint32_t fourth = in.read<std::uint8_t>();
  if ((first & 0x20) != 0) in.fail();
  return {(first & 0x1f) << 24 | second << 16 | third << 8 | fourth, 29};
}
std::uint32_t read_unsigned(ByteReader& in) { return read_compressed(in).value; }

// The sign is the lowest bit, the rest is two's complement in one bit less.
std::int64_t read_signed(ByteReader& in) {
  const auto [value, bits] = read_compressed(in);
  const auto magnitude = static_cast<std::int64_t>(value >> 1);
  return (value & 1) == 0 ? magnitude : magnitude - (std::int64_t{1} << (bits - 1));
}

std::string_view text_of(Bytes bytes) {
  const auto text = as_text(bytes);
  return text.substr(0, text.find('\0'));
}

std::size_t utf8_length(Bytes text) {
  if (text.empty() || text[0] < 0x80) return 1;
  return std::clamp<std::size_t>(static_cast<std::size_t>(std::countl_one(text[0])), 1, 4);
}

// A method's sequence points, one after the other.
class Points {
 public:
  Points(Bytes blob, std::uint32_t document) : in_(blob), document_(document) {
    if (blob.empty()) in_.fail();
    read_unsigned(in_);  // the signature of the locals
    if (document_ == 0) document_ = read_unsigned(in_);
  }

  bool next(SequencePoint& point) {
    if (!in_.ok() || in_.at_end()) return false;
    auto delta = read_unsigned(in_);
    while (!first_ && delta == 0 && in_.ok()) {  // another document from here on
      document_ = read_unsigned(in_);
      delta = read_unsigned(in_);
    }
    const std::uint64_t il = std::uint64_t{il_offset_} + delta;
    first_ = false;
    const auto lines = read_unsigned(in_);
    const auto columns = lines == 0 ? read_unsigned(in_) : read_signed(in_);
    if (!in_.ok() || il > kLastLine) return stop();
    il_offset_ = static_cast<std::uint32_t>(il);
    point = {.il_offset = il_offset_, .document = document_};
    if (lines == 0 && columns == 0) {
      point.line = point.end_line = SequencePoint::kHidden;
      return true;
    }
    const auto line = seen_ ? line_ + read_signed(in_) : read_unsigned(in_);
    const auto column = seen_ ? column_ + read_signed(in_) : read_unsigned(in_);
    seen_ = true;
    if (!in_.ok() || line < 0 || line > kLastLine || column < 0 || column > kLastLine)
      return stop();
    line_ = line;
    column_ = column;
    point.line = static_cast<std::uint32_t>(line);
    point.column = static_cast<std::uint32_t>(column);
    point.end_line = point.line + lines;
    point.end_column = static_cast<std::uint32_t>(std::max<std::int64_t>(0, column + columns));
    return true;
  }

 private:
  bool stop() {
    in_.fail();
    return false;
  }

  ByteReader in_;
  std::uint32_t document_;
  std::uint32_t il_offset_ = 0;
  std::int64_t line_ = 0;
  std::int64_t column_ = 0;
  bool first_ = true;
  bool seen_ = false;  // a point that is not hidden
};

}  // namespace

ByteReader PortablePdb::Table::row(std::uint32_t number) const {
  if (number == 0 || number > rows) return ByteReader{{}};
  return ByteReader{bytes.subspan(std::size_t{number - 1} * row_size, row_size)};
}

Result<PortablePdb> PortablePdb::parse(Bytes bytes) {
  ByteReader in{bytes};
  if (in.read<std::uint32_t>() != kMetadataMagic) return fail(Errc::kCorrupt, "not a portable PDB");
  in.skip(8);  // version of the format, reserved
  in.skip(in.read<std::uint32_t>());
  in.skip(2);
  const auto streams = in.read<std::uint16_t>();
  PortablePdb pdb;
  Bytes tables;
  bool identified = false;
  for (std::uint16_t i = 0; i < streams && in.ok(); ++i) {
    const auto offset = in.read<std::uint32_t>();
    const auto size = in.read<std::uint32_t>();
    std::string name;
    while (in.ok() && name.size() < 32) {  // padded with zeros to four bytes, one at least
      const auto four = as_text(in.take(4));
      name += four;
      if (four.find('\0') != std::string_view::npos) break;
    }
    name.resize(std::min(name.find('\0'), name.size()));
    if (offset > bytes.size() || size > bytes.size() - offset) continue;
    const auto stream = bytes.subspan(offset, size);
    if (name == "#Blob") pdb.blobs_ = stream;
    if (name == "#~") tables = stream;
    if (name == "#Pdb" && stream.size() >= pdb.id_.size()) {
      std::copy_n(stream.begin(), pdb.id_.size(), pdb.id_.begin());
      identified = true;
    }
  }
  if (!in.ok()) return fail(Errc::kCorrupt, "a truncated portable PDB");
  if (!identified || tables.empty())
    return fail(Errc::kCorrupt, "metadata that is not a portable PDB");
  TRY(pdb.read_tables(tables));
  return pdb;
}

Result<> PortablePdb::read_tables(Bytes stream) {
  ByteReader in{stream};
  in.skip(6);
  const auto heaps = in.read<std::uint8_t>();
  in.skip(1);
  const auto valid = in.read<std::uint64_t>();
  in.skip(8);  // which are sorted
  std::array<std::uint32_t, 64> rows{};
  for (std::size_t table = 0; table < 64; ++table)
    if ((valid >> table & 1) != 0) rows[table] = in.read<std::uint32_t>();
  if ((heaps & 0x40) != 0) in.skip(4);
  if (!in.ok()) return fail(Errc::kCorrupt, "a portable PDB with truncated tables");
  // Debug tables alone lie in a PDB of its own; they come first and in the order of their numbers.
  if ((valid & ((std::uint64_t{1} << kDocumentTable) - 1)) != 0)
    return fail(Errc::kUnsupported, "metadata with other tables than a portable PDB's");
  wide_blobs_ = (heaps & 4) != 0;
  const std::uint32_t blob = wide_blobs_ ? 4 : 2;
  const std::uint32_t guid = (heaps & 2) != 0 ? 4 : 2;
  const std::uint32_t document = rows[kDocumentTable] > 0xffff ? 4 : 2;
  const auto take = [&](Table& table, std::uint32_t count, std::uint32_t row_size) {
    table.row_size = row_size;
    table.rows =
        static_cast<std::uint32_t>(std::min<std::size_t>(count, in.remaining() / row_size));
    table.bytes = in.take(std::size_t{table.rows} * row_size);
    return table.rows == count;
  };
  if (!take(documents_, rows[kDocumentTable], 2 * blob + 2 * guid) ||
      !take(methods_, rows[kMethodTable], document + blob))
    return fail(Errc::kCorrupt, "a portable PDB that claims {} methods and is cut short",
                rows[kMethodTable]);
  return {};
}

std::uint32_t PortablePdb::read_blob_index(ByteReader& in) const {
  return wide_blobs_ ? in.read<std::uint32_t>() : in.read<std::uint16_t>();
}

Bytes PortablePdb::blob(std::uint32_t offset) const {
  if (offset >= blobs_.size()) return {};
  ByteReader in{blobs_.subspan(offset)};
  const auto size = read_unsigned(in);
  return in.take(size);
}

std::string PortablePdb::document_name(std::uint32_t row) const {
  auto in = documents_.row(row);
  const auto name = blob(read_blob_index(in));
  ByteReader parts{name};
  // A separator, which may be none, and the parts that it separates, each of them a blob.
  auto separator = as_text(parts.take(utf8_length(name)));
  if (separator == std::string_view{"\0", 1}) separator = {};
  std::string path;
  for (bool first = true; parts.ok() && !parts.at_end() && path.size() < kLongestPath;
       first = false) {
    if (!first) path += separator;
    const auto part = as_text(blob(read_unsigned(parts)));
    path += part.substr(0, kLongestPath);
  }
  return std::string{text_of(as_bytes(path))};
}

std::vector<SequencePoint> PortablePdb::points(std::uint32_t method_token) const {
  std::vector<SequencePoint> all;
  if (method_token >> 24 != kMethodToken) return all;
  auto row = methods_.row(method_token & 0xffffff);
  const std::uint32_t document =
      documents_.rows > 0xffff ? row.read<std::uint32_t>() : row.read<std::uint16_t>();
  const auto blob_index = read_blob_index(row);
  if (!row.ok()) return all;
  Points points{blob(blob_index), document};
  for (SequencePoint point; points.next(point);) all.push_back(point);
  return all;
}

std::optional<SourceLine> PortablePdb::line_of(std::uint32_t method_token,
                                               std::uint32_t il_offset) const {
  std::optional<SequencePoint> best;
  for (const auto& point : points(method_token)) {
    if (point.il_offset > il_offset) break;
    if (!point.hidden()) best = point;
  }
  if (!best) return std::nullopt;
  auto file = document_name(best->document);
  if (file.empty()) return std::nullopt;
  return SourceLine{.file = std::move(file), .line = best->line};
}

}  // namespace clrscope
