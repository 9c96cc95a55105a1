#include "collect/perf/tracepoint_format.h"

#include <fmt/format.h>

#include "base/text.h"

namespace clrscope::collect::perf {
namespace {

constexpr std::size_t kMostFields = 256;

// The number after "offset:" in "	field:…;	offset:8;	size:16;	signed:0;"
std::optional<std::uint64_t> number_after(std::string_view line, std::string_view key) {
  const auto at = line.find(key);
  if (at == std::string_view::npos) return std::nullopt;
  const auto rest = line.substr(at + key.size());
  return parse_number(trim(rest.substr(0, rest.find(';'))));
}

bool is_integer_size(std::uint32_t size) {
  return size == 1 || size == 2 || size == 4 || size == 8;
}

// "char name[16]", "__data_loc char[] name", "const char * name", "unsigned long args[6]"
void read_declaration(std::string_view text, TracepointField& field) {
  using Kind = TracepointField::Kind;
  const bool data_loc = text.starts_with("__data_loc ");
  const bool rel_loc = text.starts_with("__rel_loc ");
  if (data_loc || rel_loc) text = trim(text.substr(text.find(' ')));

  const auto space = text.find_last_of(" *");
  const bool named = space != std::string_view::npos;
  auto name = named ? text.substr(space + 1) : text;
  std::string type{trim(named ? text.substr(0, space + 1) : std::string_view{})};
  if (const auto bracket = name.find('['); bracket != std::string_view::npos) {
    type += name.substr(bracket);
    name = name.substr(0, bracket);
  }
  const bool array = type.find('[') != std::string::npos;
  const bool text_array = array && (type.starts_with("char[") || type.starts_with("const char["));
  field.name = name;
  field.type = type;
  if (data_loc)
    field.kind = text_array ? Kind::kDataLocText : Kind::kDataLocBytes;
  else if (rel_loc)
    field.kind = text_array ? Kind::kRelLocText : Kind::kRelLocBytes;
  else if (text_array)
    field.kind = Kind::kText;
  else
    field.kind = array || !is_integer_size(field.size) ? Kind::kBytes : Kind::kInt;
}

Result<TracepointField> read_field(std::string_view line) {
  const auto colon = line.find("field:");
  const auto declaration = line.substr(colon + 6, line.find(';') - colon - 6);
  const auto offset = number_after(line, "offset:");
  const auto size = number_after(line, "size:");
  if (!offset || !size || *offset > 0xffff || *size > 0xffff)
    return fail(Errc::kCorrupt, "field of a tracepoint without an offset: {}", trim(line));
  TracepointField field;
  field.offset = static_cast<std::uint32_t>(*offset);
  field.size = static_cast<std::uint32_t>(*size);
  field.is_signed = number_after(line, "signed:").value_or(0) != 0;
  read_declaration(trim(declaration), field);
  return field;
}

FieldValue integer_of(Bytes bytes, const TracepointField& field) {
  std::uint64_t value = 0;
  std::memcpy(&value, bytes.data(), bytes.size());
  if (!field.is_signed) return value;
  const auto unused = 64 - 8 * static_cast<unsigned>(bytes.size());
  return static_cast<std::int64_t>(value << unused) >> unused;
}

std::string_view text_of(Bytes bytes) {
  const auto text = as_text(bytes);
  return text.substr(0, text.find('\0'));
}

std::optional<Bytes> part_of(Bytes raw, std::size_t offset, std::size_t size) {
  if (offset > raw.size() || size > raw.size() - offset) return std::nullopt;
  return raw.subspan(offset, size);
}

}  // namespace

Result<TracepointFormat> parse_tracepoint_format(std::string_view text) {
  TracepointFormat format;
  bool has_id = false;
  for (const auto line : split(text, '\n')) {
    if (line.starts_with("print fmt:")) break;
    if (line.starts_with("name:")) {
      format.name = trim(line.substr(5));
    } else if (line.starts_with("ID:")) {
      const auto id = parse_number(trim(line.substr(3)));
      if (!id || *id > 0xffffffff) return fail(Errc::kCorrupt, "tracepoint with {}", line);
      format.id = static_cast<std::uint32_t>(*id);
      has_id = true;
    } else if (trim(line).starts_with("field:")) {
      if (format.fields.size() == kMostFields)
        return fail(Errc::kCorrupt, "tracepoint {} has too many fields", format.name);
      format.fields.push_back(TRY(read_field(line)));
    }
  }
  if (format.name.empty() || !has_id)
    return fail(Errc::kCorrupt, "format of a tracepoint without name or ID");
  return format;
}

std::optional<FieldValue> decode_field(const TracepointField& field, Bytes raw) {
  using Kind = TracepointField::Kind;
  const auto bytes = part_of(raw, field.offset, field.size);
  if (!bytes) return std::nullopt;
  switch (field.kind) {
    case Kind::kInt:
      return integer_of(*bytes, field);
    case Kind::kText:
      return text_of(*bytes);
    case Kind::kBytes:
      return *bytes;
    default:
      break;
  }
  if (field.size != 4) return std::nullopt;
  std::uint32_t where = 0;
  std::memcpy(&where, bytes->data(), sizeof where);
  const bool relative = field.kind == Kind::kRelLocText || field.kind == Kind::kRelLocBytes;
  const auto place =
      part_of(raw, (where & 0xffff) + (relative ? field.offset + field.size : 0), where >> 16);
  if (!place) return std::nullopt;
  if (field.kind == Kind::kDataLocText || field.kind == Kind::kRelLocText) return text_of(*place);
  return *place;
}

const TracepointField* TracepointFormat::find(std::string_view field) const {
  for (const auto& candidate : fields)
    if (candidate.name == field) return &candidate;
  return nullptr;
}

std::optional<FieldValue> TracepointFormat::value(std::string_view field, Bytes raw) const {
  const auto* found = find(field);
  return found ? decode_field(*found, raw) : std::nullopt;
}

std::optional<std::int64_t> TracepointFormat::integer(std::string_view field, Bytes raw) const {
  const auto found = value(field, raw);
  if (!found) return std::nullopt;
  if (const auto* number = std::get_if<std::int64_t>(&*found)) return *number;
  if (const auto* number = std::get_if<std::uint64_t>(&*found))
    return static_cast<std::int64_t>(*number);
  return std::nullopt;
}

std::string describe(const TracepointFormat& format, Bytes raw) {
  std::string out;
  for (const auto& field : format.fields) {
    if (field.name.starts_with("common_")) continue;
    if (!out.empty()) out += ' ';
    out += field.name + '=';
    const auto value = decode_field(field, raw);
    if (!value)
      out += '?';
    else if (const auto* number = std::get_if<std::int64_t>(&*value))
      out += fmt::format("{}", *number);
    else if (const auto* word = std::get_if<std::uint64_t>(&*value))
      out += fmt::format("{:#x}", *word);
    else if (const auto* text = std::get_if<std::string_view>(&*value))
      out += *text;
    else
      for (const auto byte : std::get<Bytes>(*value)) out += fmt::format("{:02x}", byte);
  }
  return out;
}

}  // namespace clrscope::collect::perf
