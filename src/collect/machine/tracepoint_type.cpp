#include "collect/machine/tracepoint_type.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/text.h"

namespace clrscope::collect {
namespace {

using perf::TracepointField;
using perf::TracepointFormat;
using Kind = TracepointField::Kind;

constexpr std::size_t kMostElements = 0xffff;

bool is_syscall(const TracepointFormat& format) { return format.system == "raw_syscalls"; }
bool is_common(const TracepointField& field) { return field.name.starts_with("common_"); }

bool is_text(const TracepointField& field) {
  return field.kind == Kind::kText || field.kind == Kind::kDataLocText ||
         field.kind == Kind::kRelLocText;
}

TypeCode integer_code(std::size_t size, bool is_signed) {
  switch (size) {
    case 1:
      return is_signed ? TypeCode::kInt8 : TypeCode::kUInt8;
    case 2:
      return is_signed ? TypeCode::kInt16 : TypeCode::kUInt16;
    case 4:
      return is_signed ? TypeCode::kInt32 : TypeCode::kUInt32;
    default:
      return is_signed ? TypeCode::kInt64 : TypeCode::kUInt64;
  }
}

// The size of an element of "unsigned long[6]" in 48 bytes; bytes where it is not so plain.
std::size_t element_size(const TracepointField& field) {
  const auto open = field.type.find('[');
  if (field.kind != Kind::kBytes || open == std::string::npos) return 1;
  const auto close = field.type.find(']', open);
  if (close == std::string::npos) return 1;
  const auto count = parse_number(std::string_view{field.type}.substr(open + 1, close - open - 1));
  if (!count || *count == 0 || field.size % *count != 0) return 1;
  const auto size = field.size / *count;
  return size == 2 || size == 4 || size == 8 ? size : 1;
}

Field text_field(std::string name) {
  return {.name = std::move(name), .type = TypeCode::kUtf16Text};
}

Field field_of(const TracepointField& field) {
  if (is_text(field)) return text_field(field.name);
  if (field.kind == Kind::kInt)
    return {.name = field.name, .type = integer_code(field.size, field.is_signed)};
  return {.name = field.name,
          .type = TypeCode::kArray,
          .children = {{.name = "", .type = integer_code(element_size(field), field.is_signed)}}};
}

void put_text(std::string_view text, ByteWriter& out) {
  for (const auto unit : utf16_of(text))
    if (unit != 0) out.write(unit);
  out.write(char16_t{0});
}

void put_array(Bytes bytes, std::size_t element, ByteWriter& out) {
  const auto count = std::min(bytes.size() / element, kMostElements);
  out.write(static_cast<std::uint16_t>(count));
  out.put(bytes.first(count * element));
}

void put_field(const TracepointField& field, Bytes raw, ByteWriter& out) {
  const auto value = perf::decode_field(field, raw);
  if (is_text(field)) {
    const auto* text = value ? std::get_if<std::string_view>(&*value) : nullptr;
    return put_text(text ? *text : std::string_view{}, out);
  }
  if (field.kind != Kind::kInt) {
    const auto* bytes = value ? std::get_if<Bytes>(&*value) : nullptr;
    return put_array(bytes ? *bytes : Bytes{}, element_size(field), out);
  }
  static constexpr std::uint8_t kZeros[8] = {};
  const bool there = field.offset <= raw.size() && field.size <= raw.size() - field.offset;
  out.put(there ? raw.subspan(field.offset, field.size) : Bytes{kZeros}.first(field.size));
}

}  // namespace

EventType type_of_tracepoint(const TracepointFormat& format) {
  EventType type;
  type.provider = kTracepointProvider;
  type.name = fmt::format("{}:{}", format.system, format.name);
  type.level = 4;
  if (is_syscall(format)) type.fields.push_back(text_field("name"));
  for (const auto& field : format.fields)
    if (!is_common(field)) type.fields.push_back(field_of(field));
  return type;
}

void put_tracepoint(const TracepointFormat& format, Bytes raw, ByteWriter& out) {
  if (is_syscall(format)) {
    const auto number = format.integer("id", raw).value_or(-1);
    const auto name = perf::syscall_name(number);
    put_text(name.empty() ? fmt::format("syscall_{}", number) : std::string{name}, out);
  }
  for (const auto& field : format.fields)
    if (!is_common(field)) put_field(field, raw, out);
}

}  // namespace clrscope::collect
