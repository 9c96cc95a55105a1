// What texts and JSON of payloads have in common. For payload_text.cpp and payload_json.cpp.
#pragma once

#include <fmt/format.h>

#include <charconv>
#include <cstdint>
#include <iterator>
#include <string>
#include <utility>

#include "nettrace/payload.h"

namespace clrscope::nettrace {

using Kind = Value::Kind;

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

void append_hex(std::string& out, Bytes bytes);

struct CalendarTime {
  std::int64_t year;
  unsigned month, day, hour, minute, second, ticks;  // ticks of 100 ns
};
CalendarTime calendar(std::int64_t file_time);

// The name of an enumeration's value; false, and nothing appended, when it has none.
bool append_name(std::string& out, const PayloadPlan& plan, const PayloadField& field,
                 const Value& value);

// Everything but arrays and objects, as TraceEvent prints it.
void append_scalar(std::string& out, const PayloadPlan& plan, const PayloadField& field,
                   const Value& value);

}  // namespace clrscope::nettrace
