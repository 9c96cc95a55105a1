#include "nettrace/payload_print.h"

#include <algorithm>
#include <cmath>

#include "nettrace/payload_text.h"

namespace clrscope::nettrace {
namespace {

constexpr std::size_t kBytesShown = 16;

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

}  // namespace

void append_hex(std::string& out, Bytes bytes) {
  constexpr char kDigits[] = "0123456789abcdef";
  for (const auto byte : bytes)
    out.push_back(kDigits[byte >> 4]), out.push_back(kDigits[byte & 15]);
}

void append_double(std::string& out, double value) { append_number(out, value, 15); }
void append_float(std::string& out, float value) { append_number(out, value, 7); }

CalendarTime calendar(std::int64_t file_time) {
  constexpr std::int64_t kPerSecond = 10'000'000, kPerDay = 86'400 * kPerSecond;
  const auto rest = file_time % kPerDay;
  const auto days = file_time / kPerDay - (rest < 0 ? 1 : 0);
  const auto in_day = rest < 0 ? rest + kPerDay : rest;
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

bool append_name(std::string& out, const PayloadPlan& plan, const PayloadField& field,
                 const Value& value) {
  if (field.names == nullptr || (value.kind != Kind::kInt && value.kind != Kind::kUInt))
    return false;
  const auto& names = *field.names;
  const auto wanted = value.i;
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

}  // namespace clrscope::nettrace
