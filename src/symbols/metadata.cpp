#include "symbols/metadata.h"

#include <algorithm>

#include "symbols/signature.h"

namespace clrscope {
namespace {

constexpr std::uint32_t kSignature = 0x424a5342;  // "BSJB"
constexpr std::size_t kMostText = 4096;
constexpr int kMostNested = 32;

// Kinds of columns: 2 and 4 are bytes; the others indices.
constexpr std::uint8_t kText = 0x80;
constexpr std::uint8_t kGuid = 0x81;
constexpr std::uint8_t kBlob = 0x82;
constexpr std::uint8_t kRow = 0x40;    // + table: a row of that table
constexpr std::uint8_t kCoded = 0xc0;  // + number in kCodings: a row of one of several tables

struct Coding {
  std::uint8_t bits;
  std::uint8_t count;
  std::array<std::uint8_t, 22> tables;
};
constexpr std::uint8_t kNone = 0xff;
enum CodingNumber : std::uint8_t {
  kTypeDefOrRef = kCoded,
  kHasConstant,
  kHasAttribute,
  kHasMarshal,
  kHasSecurity,
  kMemberParent,
  kHasSemantics,
  kMethodDefOrRef,
  kForwarded,
  kImplementation,
  kAttributeType,
  kScope,
  kTypeOrMethod,
};
constexpr std::array<Coding, 13> kCodings{{
    {2, 3, {0x02, 0x01, 0x1b}},
    {2, 3, {0x04, 0x08, 0x17}},
    {5, 22, {0x06, 0x04, 0x01, 0x02, 0x08, 0x09, 0x0a, 0x00, 0x0e, 0x17, 0x14,
             0x11, 0x1a, 0x1b, 0x20, 0x23, 0x26, 0x27, 0x28, 0x2a, 0x2c, 0x2b}},
    {1, 2, {0x04, 0x08}},
    {2, 3, {0x02, 0x06, 0x20}},
    {3, 5, {0x02, 0x01, 0x1a, 0x06, 0x1b}},
    {1, 2, {0x14, 0x17}},
    {1, 2, {0x06, 0x0a}},
    {1, 2, {0x04, 0x06}},
    {2, 3, {0x26, 0x23, 0x27}},
    {3, 5, {kNone, kNone, 0x06, 0x0a, kNone}},
    {2, 4, {0x00, 0x1a, 0x23, 0x01}},
    {1, 2, {0x02, 0x06}},
}};

// Columns of each table; a table without columns is unknown and must have no rows.
constexpr std::array<std::array<std::uint8_t, 9>, Metadata::kTables> kColumns{{
    {2, kText, kGuid, kGuid, kGuid},                             // Module
    {kScope, kText, kText},                                      // TypeRef
    {4, kText, kText, kTypeDefOrRef, kRow + 0x04, kRow + 0x06},  // TypeDef
    {kRow + 0x04},                                               // FieldPtr
    {2, kText, kBlob},                                           // Field
    {kRow + 0x06},                                               // MethodPtr
    {4, 2, 2, kText, kBlob, kRow + 0x08},                        // MethodDef
    {kRow + 0x08},                                               // ParamPtr
    {2, 2, kText},                                               // Param
    {kRow + 0x02, kTypeDefOrRef},                                // InterfaceImpl
    {kMemberParent, kText, kBlob},                               // MemberRef
    {2, kHasConstant, kBlob},                                    // Constant
    {kHasAttribute, kAttributeType, kBlob},                      // CustomAttribute
    {kHasMarshal, kBlob},                                        // FieldMarshal
    {2, kHasSecurity, kBlob},                                    // DeclSecurity
    {2, 4, kRow + 0x02},                                         // ClassLayout
    {4, kRow + 0x04},                                            // FieldLayout
    {kBlob},                                                     // StandAloneSig
    {kRow + 0x02, kRow + 0x14},                                  // EventMap
    {kRow + 0x14},                                               // EventPtr
    {2, kText, kTypeDefOrRef},                                   // Event
    {kRow + 0x02, kRow + 0x17},                                  // PropertyMap
    {kRow + 0x17},                                               // PropertyPtr
    {2, kText, kBlob},                                           // Property
    {2, kRow + 0x06, kHasSemantics},                             // MethodSemantics
    {kRow + 0x02, kMethodDefOrRef, kMethodDefOrRef},             // MethodImpl
    {kText},                                                     // ModuleRef
    {kBlob},                                                     // TypeSpec
    {2, kForwarded, kText, kRow + 0x1a},                         // ImplMap
    {4, kRow + 0x04},                                            // FieldRVA
    {4, 4},                                                      // EncLog
    {4},                                                         // EncMap
    {4, 2, 2, 2, 2, 4, kBlob, kText, kText},                     // Assembly
    {4},                                                         // AssemblyProcessor
    {4, 4, 4},                                                   // AssemblyOS
    {2, 2, 2, 2, 4, kBlob, kText, kText, kBlob},                 // AssemblyRef
    {4, kRow + 0x23},                                            // AssemblyRefProcessor
    {4, 4, 4, kRow + 0x23},                                      // AssemblyRefOS
    {4, kText, kBlob},                                           // File
    {4, 4, kText, kText, kImplementation},                       // ExportedType
    {4, 4, kText, kImplementation},                              // ManifestResource
    {kRow + 0x02, kRow + 0x02},                                  // NestedClass
    {2, 2, kTypeOrMethod, kText},                                // GenericParam
    {kMethodDefOrRef, kBlob},                                    // MethodSpec
    {kRow + 0x2a, kTypeDefOrRef},                                // GenericParamConstraint
}};

// Token of a coded index; 0 when it makes no sense.
std::uint32_t token_of(CodingNumber number, std::uint32_t coded) {
  const auto& coding = kCodings[number - kCoded];
  const auto tag = coded & ((1U << coding.bits) - 1);
  const auto row = coded >> coding.bits;
  if (tag >= coding.count || coding.tables[tag] == kNone || row > 0xffffff) return 0;
  return std::uint32_t{coding.tables[tag]} << 24 | row;
}

}  // namespace

Result<Metadata> Metadata::open(std::unique_ptr<MetadataBytes> bytes) {
  Metadata made{std::move(bytes)};
  TRY(made.read_streams());
  return made;
}

Result<> Metadata::read_streams() {
  ByteReader in{bytes_->get(0, std::min<std::size_t>(bytes_->size(), 1024))};
  if (in.read<std::uint32_t>() != kSignature)
    return fail(Errc::kCorrupt, "no metadata: the BSJB signature is missing");
  in.skip(8);
  const auto version_size = in.read<std::uint32_t>();
  in.skip(std::min<std::size_t>(version_size, 512));
  in.skip(2);
  const auto streams = in.read<std::uint16_t>();
  Heap tables;
  for (std::size_t i = 0; i < streams && in.ok(); ++i) {
    const Heap heap{in.read<std::uint32_t>(), in.read<std::uint32_t>()};
    std::string name;
    for (bool more = true; more && in.ok() && name.size() < 32;) {
      const auto part = as_text(in.take(4));
      name += part.substr(0, part.find('\0'));
      more = part.find('\0') == std::string_view::npos;
    }
    if (heap.start > bytes_->size() || heap.size > bytes_->size() - heap.start)
      return fail(Errc::kCorrupt, "metadata stream {} runs past its end", name);
    if (name == "#~" || name == "#-") tables = heap;
    if (name == "#Strings") strings_ = heap;
    if (name == "#Blob") blobs_ = heap;
  }
  if (!in.ok() || tables.size == 0) return fail(Errc::kCorrupt, "metadata without tables");
  return read_tables(tables.start, tables.size);
}

Result<> Metadata::read_tables(std::size_t start, std::size_t size) {
  ByteReader in{bytes_->get(start, std::min<std::size_t>(size, 24 + 64 * 4 + 4))};
  in.skip(6);
  heap_sizes_ = in.read<std::uint8_t>();
  in.skip(1);
  const auto valid = in.read<std::uint64_t>();
  in.skip(8);
  for (std::size_t i = 0; i < 64; ++i) {
    if ((valid >> i & 1) == 0) continue;
    const auto rows = in.read<std::uint32_t>();
    if (rows > 0xffffff || (i >= kTables && rows != 0))
      return fail(Errc::kCorrupt, "metadata table {:#x} of {} rows is unknown", i, rows);
    if (i < kTables) tables_[i].rows = rows;
  }
  if ((heap_sizes_ & 0x40) != 0) in.skip(4);
  if (!in.ok()) return fail(Errc::kCorrupt, "metadata tables are truncated");
  auto at = start + in.offset();
  for (std::size_t i = 0; i < kTables; ++i) {
    auto& table = tables_[i];
    for (std::size_t c = 0; c < kColumns[i].size() && kColumns[i][c] != 0; ++c) {
      table.widths[c] = static_cast<std::uint8_t>(index_width(kColumns[i][c]));
      table.row_size += table.widths[c];
    }
    table.start = at;
    at += std::size_t{table.rows} * table.row_size;
  }
  if (at > start + size) return fail(Errc::kCorrupt, "metadata tables run past their stream");
  return {};
}

std::uint32_t Metadata::index_width(std::uint8_t column) const {
  if (column == 2 || column == 4) return column;
  if (column == kText) return (heap_sizes_ & 1) != 0 ? 4 : 2;
  if (column == kGuid) return (heap_sizes_ & 2) != 0 ? 4 : 2;
  if (column == kBlob) return (heap_sizes_ & 4) != 0 ? 4 : 2;
  if (column < kText) return tables_[column - kRow].rows > 0xffff ? 4 : 2;
  const auto& coding = kCodings[column - kCoded];
  std::uint32_t most = 0;
  for (std::size_t i = 0; i < coding.count; ++i)
    if (coding.tables[i] != kNone) most = std::max(most, tables_[coding.tables[i]].rows);
  return most >> (16 - coding.bits) != 0 ? 4 : 2;
}

std::uint32_t Metadata::cell(Table table, std::uint32_t row, std::size_t column) {
  const auto& info = tables_[table];
  if (row == 0 || row > info.rows) return 0;
  std::size_t offset = info.start + std::size_t{row - 1} * info.row_size;
  for (std::size_t c = 0; c < column; ++c) offset += info.widths[c];
  ByteReader in{bytes_->get(offset, info.widths[column])};
  return info.widths[column] == 4 ? in.read<std::uint32_t>() : in.read<std::uint16_t>();
}

std::string Metadata::text(std::uint32_t offset) {
  if (offset >= strings_.size) return {};
  const auto most = std::min<std::size_t>(strings_.size - offset, kMostText);
  // Most names are short: the page after is not fetched for nothing.
  for (std::size_t size = std::min<std::size_t>(most, 64);; size = std::min(most, size * 8)) {
    const auto bytes = as_text(bytes_->get(strings_.start + offset, size));
    const auto end = bytes.find('\0');
    if (end != std::string_view::npos) return std::string{bytes.substr(0, end)};
    if (size >= most) return {};
  }
}

Bytes Metadata::blob(std::uint32_t offset) {
  if (offset == 0 || offset >= blobs_.size) return {};
  const auto left = blobs_.size - offset;
  ByteReader in{bytes_->get(blobs_.start + offset, std::min<std::size_t>(left, 4))};
  const auto size = read_compressed(in);
  if (!in.ok() || size > left - in.offset()) return {};
  return bytes_->get(blobs_.start + offset + in.offset(), size);
}

std::string Metadata::joined(std::uint32_t space, std::uint32_t name) {
  auto out = text(space);
  if (!out.empty()) out += '.';
  return out += text(name);
}

std::string Metadata::own_name(std::uint32_t token) {
  const auto row = token & 0xffffff;
  if (token >> 24 == kTypeDef) return joined(cell(kTypeDef, row, 2), cell(kTypeDef, row, 1));
  if (token >> 24 == kTypeRef) return joined(cell(kTypeRef, row, 2), cell(kTypeRef, row, 1));
  return {};
}

// Sorted by the nested type.
std::uint32_t Metadata::enclosing(std::uint32_t type_row) {
  std::uint32_t low = 1;
  std::uint32_t high = tables_[kNestedClass].rows;
  while (low <= high && high != 0) {
    const auto middle = low + (high - low) / 2;
    const auto nested = cell(kNestedClass, middle, 0);
    if (nested == type_row) return cell(kNestedClass, middle, 1);
    if (nested < type_row)
      low = middle + 1;
    else
      high = middle - 1;
  }
  return 0;
}

std::string Metadata::make_type_name(std::uint32_t token, int depth) {
  auto own = own_name(token);
  if (own.empty() || depth > kMostNested) return own;
  std::uint32_t around = 0;
  if (token >> 24 == kTypeDef) {
    if (const auto row = enclosing(token & 0xffffff)) around = std::uint32_t{kTypeDef} << 24 | row;
  } else {
    const auto scope = token_of(kScope, cell(kTypeRef, token & 0xffffff, 0));
    if (scope >> 24 == kTypeRef) around = scope;
  }
  if (around == 0 || around == token) return own;
  return make_type_name(around, depth + 1) + '+' + own;
}

const std::string& Metadata::type_name(std::uint32_t token) {
  if (const auto known = type_names_.find(token); known != type_names_.end()) return known->second;
  return type_names_[token] = make_type_name(token, 0);
}

std::string Metadata::method_name(std::uint32_t token) {
  if (token >> 24 == kMemberRef) return text(cell(kMemberRef, token & 0xffffff, 1));
  return token >> 24 == kMethodDef ? text(cell(kMethodDef, token & 0xffffff, 3)) : "";
}

// The type whose list of methods holds it: the last that begins at or before it.
std::uint32_t Metadata::declaring_type(std::uint32_t method) {
  const auto row = method & 0xffffff;
  if (method >> 24 != kMethodDef || row == 0 || row > tables_[kMethodDef].rows) return 0;
  std::uint32_t low = 1;
  for (std::uint32_t count = tables_[kTypeDef].rows; count > 1;) {
    const auto half = count / 2;
    if (cell(kTypeDef, low + half, 5) <= row) low += half;
    count -= half;
  }
  return std::uint32_t{kTypeDef} << 24 | low;
}

bool Metadata::is_native_call(std::uint32_t method) {
  constexpr std::uint32_t kPInvoke = 0x2000;
  return method >> 24 == kMethodDef && (cell(kMethodDef, method & 0xffffff, 2) & kPInvoke) != 0;
}

std::string Metadata::field_name(std::uint32_t token) {
  return token >> 24 == kField ? text(cell(kField, token & 0xffffff, 1)) : "";
}

std::string Metadata::generic_parameter_name(std::uint32_t token) {
  return token >> 24 == kGenericParam ? text(cell(kGenericParam, token & 0xffffff, 3)) : "";
}

Bytes Metadata::method_signature(std::uint32_t token) {
  if (token >> 24 == kMemberRef) return blob(cell(kMemberRef, token & 0xffffff, 2));
  return token >> 24 == kMethodDef ? blob(cell(kMethodDef, token & 0xffffff, 4)) : Bytes{};
}

Bytes Metadata::type_spec(std::uint32_t token) {
  return token >> 24 == kTypeSpec ? blob(cell(kTypeSpec, token & 0xffffff, 0)) : Bytes{};
}

Bytes Metadata::stand_alone_signature(std::uint32_t token) {
  return token >> 24 == kStandAloneSig ? blob(cell(kStandAloneSig, token & 0xffffff, 0)) : Bytes{};
}

std::uint32_t Metadata::generic_method(std::uint32_t token) {
  if (token >> 24 != kMethodSpec) return 0;
  return token_of(kMethodDefOrRef, cell(kMethodSpec, token & 0xffffff, 0));
}

std::uint32_t Metadata::il_address(std::uint32_t method) {
  if (method >> 24 != kMethodDef) return 0;
  constexpr std::uint32_t kCodeType = 3, kUnmanaged = 4;
  const auto flags = cell(kMethodDef, method & 0xffffff, 1);
  return (flags & (kCodeType | kUnmanaged)) != 0 ? 0 : cell(kMethodDef, method & 0xffffff, 0);
}

Bytes Metadata::assembly_attribute(std::string_view wanted) {
  // The assembly's attributes lie together, since the table is sorted by what they are put on.
  static constexpr std::uint32_t kOnAssembly = 1 << 5 | 14;
  std::uint32_t first = 1;
  for (std::uint32_t count = tables_[kCustomAttribute].rows; count > 0;) {
    const auto half = count / 2;
    if (cell(kCustomAttribute, first + half, 0) < kOnAssembly) {
      first += half + 1;
      count -= half + 1;
    } else {
      count = half;
    }
  }
  for (auto row = first; cell(kCustomAttribute, row, 0) == kOnAssembly; ++row) {
    const auto maker = token_of(kAttributeType, cell(kCustomAttribute, row, 1));
    std::string type;
    if (maker >> 24 == kMemberRef) {
      type = own_name(token_of(kMemberParent, cell(kMemberRef, maker & 0xffffff, 0)));
    } else if (maker >> 24 == kMethodDef) {
      type = own_name(declaring_type(maker));
    }
    if (type == wanted) return blob(cell(kCustomAttribute, row, 2));
  }
  return {};
}

std::string Metadata::informational_version() {
  ByteReader in{assembly_attribute("System.Reflection.AssemblyInformationalVersionAttribute")};
  in.skip(2);
  const auto size = read_compressed(in);
  return std::string{as_text(in.take(size))};
}

bool Metadata::forbids_optimization() {
  constexpr std::int32_t kDisableOptimizations = 0x100;  // of DebuggingModes
  const auto blob = assembly_attribute("System.Diagnostics.DebuggableAttribute");
  ByteReader in{blob};
  in.skip(2);
  if (blob.size() >= 8) return (in.read<std::int32_t>() & kDisableOptimizations) != 0;
  in.skip(1);  // the old form: is tracking on, is the optimizer off
  return blob.size() >= 4 && in.read<std::uint8_t>() != 0;
}

Result<Metadata> metadata_of(const PeFile& image) {
  if (image.clr_header().rva == 0)
    return fail(Errc::kUnsupported, "a PE file without managed code");
  ByteReader header{image.bytes_at(image.clr_header().rva)};
  header.skip(8);  // its size, the runtime's version
  const auto rva = header.read<std::uint32_t>();
  const auto size = header.read<std::uint32_t>();
  const auto rest = image.bytes_at(rva);
  if (!header.ok() || size > rest.size())
    return fail(Errc::kCorrupt, "a PE file without its metadata");
  return Metadata::open(std::make_unique<WholeMetadata>(rest.first(size)));
}

}  // namespace clrscope
