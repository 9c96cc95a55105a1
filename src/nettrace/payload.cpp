#include "nettrace/payload.h"

#include <bit>

namespace clrscope::nettrace {
namespace {

constexpr std::size_t kNone = static_cast<std::size_t>(-1);

// The offset of the first zero unit in `bytes`, or kNone. Eight bytes at a time: the lowest set
// mark is exact, since a borrow only runs upwards.
std::size_t find_zero16(Bytes bytes) {
  std::size_t at = 0;
  for (; at + 8 <= bytes.size(); at += 8) {
    std::uint64_t units;
    std::memcpy(&units, bytes.data() + at, 8);
    const auto zeros = (units - 0x0001000100010001ULL) & ~units & 0x8000800080008000ULL;
    if (zeros != 0) return at + static_cast<std::size_t>(std::countr_zero(zeros)) / 16 * 2;
  }
  for (; at + 2 <= bytes.size(); at += 2)
    if (bytes[at] == 0 && bytes[at + 1] == 0) return at;
  return kNone;
}

std::int64_t file_time_of(const std::array<std::uint16_t, 8>& t) {
  // Days from 1601-01-01, by the calendar's 400-year cycle.
  const std::int64_t month = t[1], year = t[0] - (month <= 2 ? 1 : 0);
  const std::int64_t shifted = month + (month > 2 ? -3 : 9);
  const std::int64_t in_year = (153 * shifted + 2) / 5 + t[3] - 1;
  const std::int64_t days = year * 365 + year / 4 - year / 100 + year / 400 + in_year - 584694;
  const std::int64_t seconds = ((days * 24 + t[4]) * 60 + t[5]) * 60 + t[6];
  return (seconds * 1000 + t[7]) * 10'000;
}

}  // namespace

bool PayloadCursor::read_text(const PayloadField&, Value& out) {
  const auto rest = payload_.subspan(at_);
  const auto end = find_zero16(rest);
  if (end == kNone) return false;
  out.kind = Value::Kind::kText16;
  out.bytes = rest.first(end);
  at_ += end + 2;
  return true;
}

bool PayloadCursor::read_other(const PayloadField& field, Value& out) {
  const auto start = at_;
  switch (field.wire) {
    case Wire::kInt8:
      return load_int<std::int8_t>(field, out);
    case Wire::kUInt8:
      return load_int<std::uint8_t>(field, out);
    case Wire::kInt16:
      return load_int<std::int16_t>(field, out);
    case Wire::kBool8:
    case Wire::kChar8:
      if (!load_int<std::uint8_t>(field, out)) return false;
      out.kind = field.wire == Wire::kBool8 ? Value::Kind::kBool : Value::Kind::kChar;
      return true;
    case Wire::kBool32:
      if (!load_int<std::uint32_t>(field, out)) return false;
      out.kind = Value::Kind::kBool;
      return true;
    case Wire::kChar16:
      if (!load_int<std::uint16_t>(field, out)) return false;
      out.kind = Value::Kind::kChar;
      return true;
    case Wire::kFloat32: {
      float number;
      if (!load(number)) return false;
      out.kind = Value::Kind::kFloat;
      out.f = static_cast<double>(number);
      return true;
    }
    case Wire::kFloat64:
      out.kind = Value::Kind::kDouble;
      return load(out.f);
    case Wire::kFileTime:
      out.kind = Value::Kind::kTime;
      return load(out.i);
    case Wire::kSystemTime: {
      std::array<std::uint16_t, 8> parts;
      if (!load(parts)) return false;
      out.kind = Value::Kind::kTime;
      out.i = file_time_of(parts);
      return true;
    }
    case Wire::kGuid:
    case Wire::kDecimal:
      if (payload_.size() - at_ < 16) return false;
      out.kind = field.wire == Wire::kGuid ? Value::Kind::kGuid : Value::Kind::kBytes;
      out.bytes = payload_.subspan(at_, 16);
      at_ += 16;
      return true;
    case Wire::kUtf8z: {
      const auto rest = payload_.subspan(at_);
      const auto* zero =
          rest.empty() ? nullptr
                       : static_cast<const std::uint8_t*>(std::memchr(rest.data(), 0, rest.size()));
      if (zero == nullptr) return false;
      out.kind = Value::Kind::kText8;
      out.bytes = rest.first(static_cast<std::size_t>(zero - rest.data()));
      at_ += out.bytes.size() + 1;
      return true;
    }
    case Wire::kVarInt:
    case Wire::kVarUInt: {
      ByteReader reader{payload_.subspan(at_)};
      const auto number = reader.read_varuint();
      if (!reader.ok()) return false;
      at_ += reader.offset();
      if (field.wire == Wire::kVarUInt) {
        out.kind = Value::Kind::kUInt;
        out.u = number;
      } else {
        out.kind = Value::Kind::kInt;
        out.u = (number >> 1) ^ (~(number & 1) + 1);
      }
      if (field.kept_in >= 0) kept_[static_cast<std::size_t>(field.kept_in)] = out.u;
      return true;
    }
    case Wire::kBits:
      out.kind = Value::Kind::kUInt;
      out.u = kept_[static_cast<std::size_t>(field.counted_by)];
      if (field.only_if != 0 && (out.u & field.only_if) == 0) out.u = 0;
      out.u = (out.u >> field.shift) & field.mask;
      return true;
    case Wire::kObject:
      return read_object(field, out);
    default:
      if (read_counted(field, out)) return true;
      at_ = start;
      return false;
  }
}

bool PayloadCursor::read_object(const PayloadField& field, Value& out) {
  out.kind = Value::Kind::kObject;
  if (field.size != PayloadField::kUnknown) {
    if (payload_.size() - at_ < field.size) return false;
    out.bytes = payload_.subspan(at_, field.size);
    at_ += field.size;
    return true;
  }
  PayloadCursor inside{plan_, payload_, at_};
  for (const auto& member : plan_.children(field)) {
    Value ignored;
    if (!inside.read(member, ignored)) return false;
  }
  out.bytes = payload_.subspan(at_, inside.at_ - at_);
  at_ = inside.at_;
  return true;
}

bool PayloadCursor::read_counted(const PayloadField& field, Value& out) {
  switch (field.counted) {
    case Counted::kFixed:
      return elements(field, field.fixed_count, out);
    case Counted::kByField:
      return elements(field, kept_[static_cast<std::size_t>(field.counted_by)], out);
    case Counted::kBefore16: {
      std::uint16_t count;
      return load(count) && elements(field, count, out);
    }
    case Counted::kBefore32: {
      std::uint32_t count;
      return load(count) && elements(field, count, out);
    }
    case Counted::kRelLoc:
    case Counted::kDataLoc: {
      std::uint32_t place;
      if (!load(place)) return false;
      const auto after = at_;
      const std::size_t begin = (place & 0xffff) + (field.counted == Counted::kRelLoc ? after : 0);
      const std::size_t bytes = place >> 16;
      if (begin > payload_.size() || payload_.size() - begin < bytes) return false;
      const auto element = plan_.children(field).front().size;
      PayloadCursor there{plan_, payload_.first(begin + bytes), begin};
      if (!there.elements(field, bytes / element, out)) return false;
      return true;
    }
    case Counted::kNot:
      break;
  }
  return false;
}

bool PayloadCursor::elements(const PayloadField& field, std::uint64_t count, Value& out) {
  const auto& element = plan_.children(field).front();
  const auto left = payload_.size() - at_;
  if (count > left / element.min_size) return false;  // min_size > 0: PlanBuilder sees to it
  out.count = static_cast<std::uint32_t>(count);
  std::size_t bytes = 0;
  if (element.size != PayloadField::kUnknown) {
    bytes = static_cast<std::size_t>(count) * element.size;
  } else {
    PayloadCursor inside{plan_, payload_, at_};
    for (std::uint64_t i = 0; i < count; ++i) {
      Value ignored;
      if (!inside.read(element, ignored)) return false;
    }
    bytes = inside.at_ - at_;
  }
  out.kind = field.wire == Wire::kText16  ? Value::Kind::kText16
             : field.wire == Wire::kText8 ? Value::Kind::kText8
             : field.wire == Wire::kBytes ? Value::Kind::kBytes
                                          : Value::Kind::kArray;
  out.bytes = payload_.subspan(at_, bytes);
  at_ += bytes;
  return true;
}

std::optional<std::size_t> PayloadPlan::find(std::string_view name) const {
  for (std::size_t i = 0; i < top_; ++i)
    if (nodes_[i].name == name) return i;
  return std::nullopt;
}

std::optional<Value> read_field(const PayloadPlan& plan, std::size_t index, Bytes payload) {
  const auto fields = plan.fields();
  if (index >= fields.size()) return std::nullopt;
  // Begin at the last field whose place is the same in every payload, unless values are kept.
  std::size_t first = index;
  while (first > 0 && (plan.keeps_ || fields[first].offset == PayloadField::kUnknown)) --first;
  const std::size_t at = first == 0 ? 0 : fields[first].offset;
  if (at > payload.size()) return std::nullopt;
  PayloadCursor cursor{plan, payload, at};
  Value value;
  for (; first <= index; ++first) {
    value = {};
    if (!cursor.read(fields[first], value)) return std::nullopt;
  }
  return value;
}

std::string text_of(const Value& value) {
  if (value.kind == Value::Kind::kText16) return utf8_of(value.bytes);
  if (value.kind == Value::Kind::kText8) return std::string{as_text(value.bytes)};
  return {};
}

}  // namespace clrscope::nettrace
