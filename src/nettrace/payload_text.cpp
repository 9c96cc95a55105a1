#include "nettrace/payload_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <iterator>
#include <utility>

#include "base/json.h"

namespace clrscope::nettrace {
namespace {

using Kind = Value::Kind;

constexpr std::size_t kBytesShown = 16;

template <class... Args>
void print(std::string& out, fmt::format_string<Args...> format, Args&&... args) {
  fmt::format_to(std::back_inserter(out), format, std::forward<Args>(args)...);
}

template <class T>
void append_integer(std::string& out, T value, int base = 10, std::size_t digits = 0) {
  char buffer[24];
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, value, base).ptr;
  const auto size = static_cast<std::size_t>(end - buffer);
  if (size < digits) out.append(digits - size, '0');
  out.append(buffer, size);
}

void append_hex(std::string& out, Bytes bytes) {
  constexpr char kDigits[] = "0123456789abcdef";
  for (const auto byte : bytes)
    out.push_back(kDigits[byte >> 4]), out.push_back(kDigits[byte & 15]);
}

// .NET's general format: plain digits up to `precision` places before the point and four zeros
// behind it, else with an exponent.
template <class T>
void append_number(std::string& out, T value, int precision) {
  if (std::isnan(value)) {
    out += "NaN";
    return;
  }
  if (std::isinf(value)) {
    out += value < 0 ? "-Infinity" : "Infinity";
    return;
  }
  char buffer[64];
  const auto end =
      std::to_chars(buffer, buffer + sizeof buffer, value, std::chars_format::scientific).ptr;
  std::string_view text{buffer, static_cast<std::size_t>(end - buffer)};
  if (text.front() == '-') out.push_back('-'), text.remove_prefix(1);
  const auto e = text.find('e');
  int exponent = 0;
  const auto digits_after = text.substr(e + (text[e + 1] == '+' ? 2 : 1));
  std::from_chars(digits_after.data(), digits_after.data() + digits_after.size(), exponent);
  std::string digits{text.substr(0, e)};
  std::erase(digits, '.');
  const int count = static_cast<int>(digits.size());
  const int scale = digits == "0" ? 0 : exponent + 1;  // the value is 0.digits × 10^scale
  if (scale > std::max(count, precision) || scale < -3) {
    out += digits.substr(0, 1);
    if (count > 1) out += "." + digits.substr(1);
    print(out, "E{}{:02}", exponent < 0 ? '-' : '+', std::abs(exponent));
  } else if (scale <= 0) {
    out += digits == "0" ? "0" : "0." + std::string(static_cast<std::size_t>(-scale), '0') + digits;
  } else if (scale >= count) {
    out += digits + std::string(static_cast<std::size_t>(scale - count), '0');
  } else {
    const auto point = static_cast<std::size_t>(scale);
    out += digits.substr(0, point) + "." + digits.substr(point);
  }
}

struct CalendarTime {
  std::int64_t year;
  unsigned month, day, hour, minute, second, ticks;  // ticks of 100 ns
};

CalendarTime calendar(std::int64_t file_time) {
  constexpr std::int64_t kPerSecond = 10'000'000, kPerDay = 86'400 * kPerSecond;
  const auto days = file_time / kPerDay - (file_time % kPerDay < 0 ? 1 : 0);
  const auto in_day = file_time - days * kPerDay;
  const auto shifted = days + 584'694;  // from 0000-03-01
  const auto era = (shifted >= 0 ? shifted : shifted - 146'096) / 146'097;
  const auto day_of_era = shifted - era * 146'097;
  const auto year_of_era =
      (day_of_era - day_of_era / 1460 + day_of_era / 36'524 - day_of_era / 146'096) / 365;
  const auto day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
  const auto month = (5 * day_of_year + 2) / 153;
  CalendarTime time{};
  time.day = static_cast<unsigned>(day_of_year - (153 * month + 2) / 5 + 1);
  time.month = static_cast<unsigned>(month < 10 ? month + 3 : month - 9);
  time.year = year_of_era + era * 400 + (time.month <= 2 ? 1 : 0);
  const auto seconds = in_day / kPerSecond;
  time.hour = static_cast<unsigned>(seconds / 3600);
  time.minute = static_cast<unsigned>(seconds / 60 % 60);
  time.second = static_cast<unsigned>(seconds % 60);
  time.ticks = static_cast<unsigned>(in_day % kPerSecond);
  return time;
}

std::int64_t signed_value(const Value& value) { return value.i; }

// Names of bits as .NET joins them: the largest that fit are taken out first; a rest that has no
// name makes the whole a number.
bool append_flags(std::string& out, const ValueNames& names, std::int64_t value) {
  std::vector<std::string_view> taken;
  auto rest = static_cast<std::uint64_t>(value);
  for (auto it = names.values.rbegin(); it != names.values.rend() && rest != 0; ++it) {
    const auto bits = static_cast<std::uint64_t>(it->value);
    if (bits == 0 || (rest & bits) != bits) continue;
    taken.push_back(it->name);
    rest &= ~bits;
  }
  if (rest != 0 || taken.empty()) return false;
  for (auto it = taken.rbegin(); it != taken.rend(); ++it) {
    if (it != taken.rbegin()) out += ", ";
    out += *it;
  }
  return true;
}

// Bits of a manifest's map, as TraceEvent joins them: unknown ones in hexadecimal.
void append_bit_map(std::string& out, const ValueNames& names, std::int64_t value) {
  auto rest = static_cast<std::uint64_t>(value);
  const auto start = out.size();
  for (const auto& [name, bits] : names.values) {
    if ((rest & static_cast<std::uint64_t>(bits)) == 0) continue;
    if (out.size() != start) out.push_back('|');
    out += name;
    rest &= ~static_cast<std::uint64_t>(bits);
  }
  if (rest != 0) {
    if (out.size() != start) out.push_back('|');
    print(out, "0x{:x}", rest);
  } else if (out.size() == start) {
    out.push_back('0');
  }
}

bool append_name(std::string& out, const PayloadPlan& plan, const PayloadField& field,
                 const Value& value) {
  if (field.names == nullptr || (value.kind != Kind::kInt && value.kind != Kind::kUInt))
    return false;
  const auto& names = *field.names;
  const auto wanted = signed_value(value);
  if (names.flags && plan.schema() == Schema::kManifest) {
    append_bit_map(out, names, wanted);
    return true;
  }
  for (const auto& [name, number] : names.values) {
    if (number != wanted) continue;
    out += name;
    return true;
  }
  return names.flags && append_flags(out, names, wanted);
}

void append_guid(std::string& out, Bytes bytes) {
  Guid guid;
  std::copy_n(bytes.begin(), 16, guid.bytes.begin());
  out += to_string(guid);
}

void append_char(std::string& out, std::uint64_t unit) {
  const std::uint8_t bytes[] = {static_cast<std::uint8_t>(unit),
                                static_cast<std::uint8_t>(unit >> 8)};
  append_utf8(out, bytes);
}

void append_scalar(std::string& out, const PayloadPlan& plan, const PayloadField& field,
                   const Value& value) {
  if (append_name(out, plan, field, value)) return;
  switch (value.kind) {
    case Kind::kInt:
      append_integer(out, value.i);
      break;
    case Kind::kUInt:
      if (field.hex) out += "0x";
      append_integer(out, value.u, field.hex ? 16 : 10, field.hex ? 8 : 0);
      break;
    case Kind::kBool:
      out += value.u != 0 ? "True" : "False";
      break;
    case Kind::kFloat:
      append_float(out, static_cast<float>(value.f));
      break;
    case Kind::kDouble:
      append_double(out, value.f);
      break;
    case Kind::kChar:
      append_char(out, value.u);
      break;
    case Kind::kGuid:
      append_guid(out, value.bytes);
      break;
    case Kind::kTime: {
      const auto t = calendar(value.i);
      print(out, "{:02}/{:02}/{:04} {:02}:{:02}:{:02}", t.month, t.day, t.year, t.hour, t.minute,
            t.second);
      break;
    }
    case Kind::kText16:
      append_utf8(out, value.bytes);
      break;
    case Kind::kText8:
      out += as_text(value.bytes);
      break;
    case Kind::kBytes:
      append_hex(out, value.bytes.first(std::min(value.bytes.size(), kBytesShown)));
      if (value.bytes.size() > kBytesShown) out += "...";
      break;
    default:
      break;
  }
}

void append_quoted(std::string& out, std::string_view text) {
  out.push_back('"');
  for (const char c : text) {
    if (c == '"' || c == '\\') out.push_back('\\');
    out.push_back(c);
  }
  out.push_back('"');
}

// Inside a structure: numbers and truths as they are, everything else quoted.
void append_member(std::string& out, const PayloadPlan& plan, const PayloadField& field,
                   const Value& value) {
  const char* separator = "";
  switch (value.kind) {
    case Kind::kObject:
      out += "{ ";
      for_each_member(plan, field, value, [&](const PayloadField& member, const Value& inner) {
        out += std::exchange(separator, ", ");
        append_quoted(out, member.name);
        out.push_back(':');
        append_member(out, plan, member, inner);
      });
      out += " }";
      break;
    case Kind::kArray:
      out += "[ ";
      for_each_element(plan, field, value, [&](const PayloadField& element, const Value& inner) {
        out += std::exchange(separator, ", ");
        append_member(out, plan, element, inner);
      });
      out += " ]";
      break;
    case Kind::kBool:
    case Kind::kFloat:
    case Kind::kDouble:
      append_scalar(out, plan, field, value);
      break;
    default:
      if (field.wire == Wire::kInt32 || field.wire == Wire::kInt16) {
        append_scalar(out, plan, field, value);
      } else if (value.kind == Kind::kUInt && field.names == nullptr) {
        print(out, "\"{}\"", value.u);  // addresses too
      } else {
        std::string text;
        append_scalar(text, plan, field, value);
        append_quoted(out, text);
      }
  }
}

// "key"->"value" for pairs, as TraceEvent prints the arguments of DiagnosticSource events.
bool append_pair(std::string& out, const PayloadPlan& plan, const PayloadField& field,
                 const Value& value) {
  const auto members = plan.children(field);
  if (value.kind != Kind::kObject || members.size() != 2 || members[0].name != "Key" ||
      members[1].name != "Value")
    return false;
  for_each_member(plan, field, value, [&](const PayloadField& member, const Value& inner) {
    const bool is_value = member.name == "Value";
    if (is_value) out += "->\"";
    append_scalar(out, plan, member, inner);
    if (is_value) out.push_back('"');
  });
  return true;
}

// UTF-16 as a JSON string; written in place, and once more if something in it needs an escape.
void append_json_text(std::string& out, Bytes utf16) {
  const auto start = out.size();
  out.push_back('"');
  append_utf8(out, utf16);
  const std::string_view written = std::string_view{out}.substr(start + 1);
  const bool plain = std::all_of(written.begin(), written.end(), [](char c) {
    return static_cast<unsigned char>(c) >= 0x20 && c != '"' && c != '\\' && c != '<' && c != '>' &&
           c != '&' && c != '\'' && c != 0x7f;
  });
  if (plain) {
    out.push_back('"');
    return;
  }
  const std::string text{written};
  out.resize(start);
  append_json_string(out, text);
}

bool append_quoted_name(std::string& out, const PayloadPlan& plan, const PayloadField& field,
                        const Value& value) {
  const auto start = out.size();
  out.push_back('"');
  if (append_name(out, plan, field, value)) {
    // Names from a manifest may hold anything.
    if (plan.schema() == Schema::kManifest) {
      const auto name = out.substr(start + 1);
      out.resize(start);
      append_json_string(out, name);
    } else {
      out.push_back('"');
    }
    return true;
  }
  out.resize(start);
  return false;
}

}  // namespace

void append_double(std::string& out, double value) { append_number(out, value, 15); }
void append_float(std::string& out, float value) { append_number(out, value, 7); }

void append_text(std::string& out, const PayloadPlan& plan, const PayloadField& field,
                 const Value& value) {
  if (value.kind == Kind::kObject) {
    append_member(out, plan, field, value);
  } else if (value.kind == Kind::kArray) {
    const char* separator = "";
    out.push_back('[');
    for_each_element(plan, field, value, [&](const PayloadField& element, const Value& inner) {
      out += std::exchange(separator, ",");
      if (append_pair(out, plan, element, inner)) return;
      if (inner.kind == Kind::kObject || inner.kind == Kind::kArray)
        append_member(out, plan, element, inner);
      else if (inner.kind == Kind::kUInt)
        append_integer(out, inner.u);  // elements are printed plainly, addresses too
      else
        append_scalar(out, plan, element, inner);
    });
    out.push_back(']');
  } else {
    append_scalar(out, plan, field, value);
  }
}

void append_text(std::string& out, const PayloadPlan& plan, Bytes payload) {
  const char* separator = "";
  const auto decoded =
      for_each_field(plan, payload, [&](const PayloadField& field, const Value& value) {
        out += std::exchange(separator, " ");
        out += field.name;
        out += "=\"";
        append_text(out, plan, field, value);
        out.push_back('"');
      });
  if (decoded == Decoded::kTruncated) (out += separator) += "(truncated)";
  if (plan.schema() == Schema::kUnknown && !payload.empty())
    print(out, "({} bytes that nobody describes)", payload.size());
}

void append_json(std::string& out, const PayloadPlan& plan, const PayloadField& field,
                 const Value& value) {
  const char* separator = "";
  switch (value.kind) {
    case Kind::kInt:
    case Kind::kUInt:
      if (field.names != nullptr && append_quoted_name(out, plan, field, value)) break;
      if (field.hex) {
        out += "\"0x";
        append_integer(out, value.u, 16);
        out.push_back('"');
      } else if (value.kind == Kind::kInt) {
        append_integer(out, value.i);
      } else {
        append_integer(out, value.u);
      }
      break;
    case Kind::kBool:
      out += value.u != 0 ? "true" : "false";
      break;
    case Kind::kFloat:
    case Kind::kDouble:
      if (std::isfinite(value.f))
        value.kind == Kind::kFloat ? print(out, "{}", static_cast<float>(value.f))
                                   : print(out, "{}", value.f);
      else
        out += "null";
      break;
    case Kind::kTime: {
      const auto t = calendar(value.i);
      print(out, "\"{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:07}Z\"", t.year, t.month, t.day, t.hour,
            t.minute, t.second, t.ticks);
      break;
    }
    case Kind::kBytes:
      out.push_back('"');
      append_hex(out, value.bytes);
      out.push_back('"');
      break;
    case Kind::kObject:
      out.push_back('{');
      for_each_member(plan, field, value, [&](const PayloadField& member, const Value& inner) {
        out += std::exchange(separator, ",");
        out += member.json_key;
        append_json(out, plan, member, inner);
      });
      out.push_back('}');
      break;
    case Kind::kArray:
      out.push_back('[');
      for_each_element(plan, field, value, [&](const PayloadField& element, const Value& inner) {
        out += std::exchange(separator, ",");
        append_json(out, plan, element, inner);
      });
      out.push_back(']');
      break;
    case Kind::kText8:
      append_json_string(out, as_text(value.bytes));
      break;
    case Kind::kText16:
      append_json_text(out, value.bytes);
      break;
    default: {
      std::string text;
      append_scalar(text, plan, field, value);
      append_json_string(out, text);
    }
  }
}

void append_json(std::string& out, const PayloadPlan& plan, Bytes payload) {
  const char* separator = "";
  out.push_back('{');
  const auto decoded =
      for_each_field(plan, payload, [&](const PayloadField& field, const Value& value) {
        out += std::exchange(separator, ",");
        out += field.json_key;
        append_json(out, plan, field, value);
      });
  if (decoded == Decoded::kTruncated) (out += separator) += "\"truncated\":true";
  if (plan.schema() == Schema::kUnknown && !payload.empty())
    print(out, "\"undescribedBytes\":{}", payload.size());
  out.push_back('}');
}

}  // namespace clrscope::nettrace
