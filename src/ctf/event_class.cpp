#include "ctf/event_class.h"

#include <fmt/format.h>

#include <cstring>
#include <iterator>
#include <set>

#include "nettrace/payload_text.h"

namespace clrscope::ctf {
namespace {

using nettrace::PayloadCursor;
using nettrace::PayloadField;
using nettrace::PayloadPlan;
using nettrace::Value;
using nettrace::Wire;
using Fields = std::span<const PayloadField>;

// How a field is written; arrays and objects go by their children.
enum class Shape : std::uint8_t {
  kI8,
  kU8,
  kI16,
  kU16,
  kI32,
  kU32,
  kI64,
  kU64,
  kF32,
  kF64,
  kBool,
  kText,
  kBytes,
  kArray,
  kObject
};

Shape shape_of(const PayloadField& field) {
  switch (field.wire) {
    case Wire::kInt8:
      return Shape::kI8;
    case Wire::kUInt8:
      return Shape::kU8;
    case Wire::kInt16:
      return Shape::kI16;
    case Wire::kUInt16:
      return Shape::kU16;
    case Wire::kInt32:
      return Shape::kI32;
    case Wire::kUInt32:
      return Shape::kU32;
    case Wire::kInt64:
    case Wire::kVarInt:
      return Shape::kI64;
    case Wire::kUInt64:
    case Wire::kVarUInt:
    case Wire::kBits:
      return Shape::kU64;
    case Wire::kFloat32:
      return Shape::kF32;
    case Wire::kFloat64:
      return Shape::kF64;
    case Wire::kBool8:
    case Wire::kBool32:
      return Shape::kBool;
    case Wire::kBytes:
      return Shape::kBytes;
    case Wire::kArray:
      return Shape::kArray;
    case Wire::kObject:
      return Shape::kObject;
    case Wire::kChar8:
    case Wire::kChar16:
    case Wire::kGuid:
    case Wire::kFileTime:
    case Wire::kSystemTime:
    case Wire::kDecimal:
    case Wire::kUtf16z:
    case Wire::kUtf8z:
    case Wire::kText16:
    case Wire::kText8:
      return Shape::kText;
  }
  return Shape::kText;
}

std::string_view integer_name(Shape shape) {
  switch (shape) {
    case Shape::kI8:
      return "int8_t";
    case Shape::kU8:
      return "uint8_t";
    case Shape::kI16:
      return "int16_t";
    case Shape::kU16:
      return "uint16_t";
    case Shape::kI32:
      return "int32_t";
    case Shape::kU32:
      return "uint32_t";
    case Shape::kI64:
      return "int64_t";
    default:
      return "uint64_t";
  }
}

std::string enumeration(const nettrace::ValueNames& names, Shape shape) {
  std::string text = fmt::format("enum : {} {{", integer_name(shape));
  const char* separator = " ";
  for (const auto& one : names.values) {
    fmt::format_to(std::back_inserter(text), "{}{} = {}", separator, quoted(one.name), one.value);
    separator = ", ";
  }
  return text + " }";
}

std::string members(const PayloadPlan& plan, Fields fields, int depth);

std::string type_of(const PayloadPlan& plan, const PayloadField& field, int depth) {
  const auto shape = shape_of(field);
  switch (shape) {
    case Shape::kF32:
      return "float32_t";
    case Shape::kF64:
      return "float64_t";
    case Shape::kBool:
      return "enum : uint8_t { \"false\" = 0, \"true\" = 1 }";
    case Shape::kText:
      return "string";
    case Shape::kBytes:
      return "byte_t";
    case Shape::kArray:
      return type_of(plan, plan.children(field).front(), depth);
    case Shape::kObject:
      return fmt::format("struct {{\n{}{:{}}}}", members(plan, plan.children(field), depth + 1), "",
                         depth * 2);
    default:
      if (field.names != nullptr && !field.names->flags && !field.names->values.empty())
        return enumeration(*field.names, shape);
      if (field.hex && shape == Shape::kU64) return "address_t";
      return std::string{integer_name(shape)};
  }
}

// A C identifier; the underscore before it keeps it from being a word of TSDL, and readers leave it
// out.
std::string identifier(std::string_view name, std::set<std::string>& taken) {
  std::string word = "_";
  for (const char c : name) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    word += plain ? c : '_';
  }
  if (word.size() == 1) word += "field";
  const auto wanted = word;
  for (int n = 2; !taken.insert(word).second; ++n) word = fmt::format("{}_{}", wanted, n);
  return word;
}

// An element that is itself counted needs a structure around it: its count stands before it.
bool nests(const PayloadPlan& plan, const PayloadField& array) {
  const auto inner = shape_of(plan.children(array).front());
  return inner == Shape::kArray || inner == Shape::kBytes;
}

std::string members(const PayloadPlan& plan, Fields fields, int depth) {
  std::string text;
  std::set<std::string> taken;
  for (const auto& field : fields) {
    const auto name = identifier(field.name, taken);
    const auto shape = shape_of(field);
    const bool counted = shape == Shape::kBytes || shape == Shape::kArray;
    if (shape == Shape::kArray && field.children == 0) continue;
    if (counted) {
      taken.insert(name + "_length");
      fmt::format_to(std::back_inserter(text), "{:{}}uint32_t {}_length;\n", "", depth * 2, name);
    }
    const auto type =
        shape == Shape::kArray && nests(plan, field)
            ? fmt::format("struct {{\n{}{:{}}}}", members(plan, plan.children(field), depth + 1),
                          "", depth * 2)
            : type_of(plan, field, depth);
    fmt::format_to(std::back_inserter(text), "{:{}}{} {}{};\n", "", depth * 2, type, name,
                   counted ? fmt::format("[{}_length]", name) : "");
  }
  return text;
}

class Encoder {
 public:
  Encoder(std::vector<std::uint8_t>& out, const PayloadPlan& plan) : out_(out), plan_(plan) {}

  // All of them, also those that the bytes do not reach.
  void fields(Fields fields, Bytes payload) {
    PayloadCursor cursor{plan_, payload};
    bool whole = true;
    for (const auto& field : fields) {
      Value value;
      whole = whole && cursor.read(field, value);
      if (whole)
        put(field, value);
      else
        put_nothing(field);
    }
  }

 private:
  template <class T>
  void number(T value) {
    const auto at = out_.size();
    out_.resize(at + sizeof value);
    std::memcpy(out_.data() + at, &value, sizeof value);
  }
  void text(std::string_view text) {
    for (const char c : text)
      if (c != '\0') out_.push_back(static_cast<std::uint8_t>(c));
    out_.push_back(0);
  }

  void put(const PayloadField& field, const Value& value) {
    switch (shape_of(field)) {
      case Shape::kI8:
      case Shape::kU8:
        return number(static_cast<std::uint8_t>(value.u));
      case Shape::kI16:
      case Shape::kU16:
        return number(static_cast<std::uint16_t>(value.u));
      case Shape::kI32:
      case Shape::kU32:
        return number(static_cast<std::uint32_t>(value.u));
      case Shape::kI64:
      case Shape::kU64:
        return number(value.u);
      case Shape::kF32:
        return number(static_cast<float>(value.f));
      case Shape::kF64:
        return number(value.f);
      case Shape::kBool:
        return number(static_cast<std::uint8_t>(value.u != 0));
      case Shape::kText:
        return put_text(field, value);
      case Shape::kBytes:
        return bytes(value.bytes);
      case Shape::kArray:
        return array(field, value);
      case Shape::kObject:
        return fields(plan_.children(field), value.bytes);
    }
  }

  void put_text(const PayloadField& field, const Value& value) {
    if (value.kind == Value::Kind::kText8) return text(as_text(value.bytes));
    scratch_.clear();
    if (value.kind == Value::Kind::kText16)
      append_utf8(scratch_, value.bytes);
    else
      nettrace::append_text(scratch_, plan_, field, value);
    text(scratch_);
  }

  void bytes(Bytes bytes) {
    number(static_cast<std::uint32_t>(bytes.size()));
    out_.insert(out_.end(), bytes.begin(), bytes.end());
  }

  void array(const PayloadField& field, const Value& value) {
    if (field.children == 0) return;
    const auto count_at = out_.size();
    number(std::uint32_t{0});
    std::uint32_t count = 0;  // of elements that are really there
    nettrace::for_each_element(plan_, field, value,
                               [&](const PayloadField& element, const Value& inner) {
                                 put(element, inner);
                                 ++count;
                               });
    std::memcpy(out_.data() + count_at, &count, sizeof count);
  }

  void put_nothing(const PayloadField& field) {
    switch (shape_of(field)) {
      case Shape::kText:
        return text({});
      case Shape::kBytes:
        return bytes({});
      case Shape::kArray:
        if (field.children != 0) number(std::uint32_t{0});
        return;
      case Shape::kObject:
        return fields(plan_.children(field), {});
      default:
        return put(field, Value{});
    }
  }

  std::vector<std::uint8_t>& out_;
  const PayloadPlan& plan_;
  std::string scratch_;
};

}  // namespace

std::string describe(const PayloadPlan& plan) {
  if (plan.schema() == nettrace::Schema::kUnknown)
    return "    uint32_t _payload_length;\n    byte_t _payload[_payload_length];\n";
  return members(plan, plan.fields(), 2);
}

void append_payload(std::vector<std::uint8_t>& out, const PayloadPlan& plan, Bytes payload) {
  if (plan.schema() != nettrace::Schema::kUnknown)
    return Encoder{out, plan}.fields(plan.fields(), payload);
  const auto size = static_cast<std::uint32_t>(payload.size());
  const auto at = out.size();
  out.resize(at + sizeof size);
  std::memcpy(out.data() + at, &size, sizeof size);
  out.insert(out.end(), payload.begin(), payload.end());
}

std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (static_cast<unsigned char>(c) < 0x20) continue;
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + "\"";
}

}  // namespace clrscope::ctf
