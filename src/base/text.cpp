#include "base/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

namespace clrscope {
namespace {

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; }

constexpr double kOneDecimal = 9.95;  // from here on one would be 10.0

struct Unit {
  std::string_view name;
  double factor;
};

// "1.5GiB" → 1.5 and "GiB"; nothing when it does not begin with a number.
std::optional<std::pair<double, std::string_view>> split_unit(std::string_view text) {
  double value = 0;
  const auto* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value, std::chars_format::fixed);
  if (error != std::errc{} || value < 0 || !std::isfinite(value)) return std::nullopt;
  return std::pair{value, trim({rest, static_cast<std::size_t>(end - rest)})};
}

template <std::size_t N>
std::optional<double> scaled(std::string_view text, const Unit (&units)[N]) {
  const auto parts = split_unit(text);
  if (!parts) return std::nullopt;
  for (const auto& unit : units)
    if (equal_ignoring_case(unit.name, parts->second)) return parts->first * unit.factor;
  return std::nullopt;
}

// "00:00:30" or "01:00:00:30": each part but the first below its bound.
std::optional<double> clock_seconds(std::string_view text) {
  const auto parts = split(text, ':');
  if (parts.size() != 3 && parts.size() != 4) return std::nullopt;
  static constexpr std::uint64_t kFactor[] = {86400, 3600, 60, 1};
  static constexpr std::uint64_t kBound[] = {1'000'000, 24, 60, 60};
  double seconds = 0;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const auto unit = i + 4 - parts.size();
    const auto number = parse_number(parts[i]);
    if (!number || *number >= (i == 0 ? kBound[0] : kBound[unit])) return std::nullopt;
    seconds += static_cast<double>(*number * kFactor[unit]);
  }
  return seconds;
}

}  // namespace

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (;;) {
    const auto at = text.find(separator);
    parts.push_back(text.substr(0, at));
    if (at == std::string_view::npos) return parts;
    text.remove_prefix(at + 1);
  }
}

std::string_view trim(std::string_view text) {
  constexpr std::string_view kBlank = " \t\r\n";
  const auto first = text.find_first_not_of(kBlank);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlank) - first + 1);
}

bool equal_ignoring_case(std::string_view a, std::string_view b) {
  return std::ranges::equal(a, b, {}, lower, lower);
}

std::optional<std::uint64_t> parse_number(std::string_view text) {
  int base = 10;
  if (text.starts_with("0x") || text.starts_with("0X")) {
    text.remove_prefix(2);
    base = 16;
  }
  std::uint64_t value = 0;
  const auto* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value, base);
  if (error != std::errc{} || rest != end || text.empty()) return std::nullopt;
  return value;
}

bool glob_match(std::string_view pattern, std::string_view text) {
  std::size_t p = 0, t = 0;
  std::size_t star = std::string_view::npos, resume = 0;
  while (t < text.size()) {
    if (p < pattern.size() && (pattern[p] == '?' || (pattern[p] != '*' && pattern[p] == text[t]))) {
      ++p, ++t;
    } else if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      resume = t;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      t = ++resume;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

Result<std::chrono::nanoseconds> parse_duration(std::string_view text) {
  static constexpr Unit kUnits[] = {{"", 1},     {"s", 1},    {"ms", 1e-3}, {"m", 60},
                                    {"min", 60}, {"h", 3600}, {"d", 86400}};
  auto seconds = scaled(text, kUnits);
  if (!seconds) seconds = clock_seconds(text);
  constexpr double kTenYears = 10 * 365.0 * 86400;
  if (!seconds || *seconds > kTenYears)
    return fail(Errc::kUsage, "'{}' is not a duration", text)
        .hint("write 30, 30s, 5m, 500ms or 00:00:30");
  return std::chrono::nanoseconds{std::llround(*seconds * 1e9)};
}

Result<std::uint64_t> parse_size(std::string_view text) {
  static constexpr Unit kUnits[] = {{"", 1},
                                    {"B", 1},
                                    {"KB", 1e3},
                                    {"K", 1024.0},
                                    {"KiB", 1024.0},
                                    {"MB", 1e6},
                                    {"M", 1048576.0},
                                    {"MiB", 1048576.0},
                                    {"GB", 1e9},
                                    {"G", 1073741824.0},
                                    {"GiB", 1073741824.0},
                                    {"TB", 1e12},
                                    {"TiB", 1099511627776.0}};
  const auto bytes = scaled(text, kUnits);
  if (!bytes || *bytes > 1e18)
    return fail(Errc::kUsage, "'{}' is not a size", text).hint("write 64MiB, 500KB or 1GB");
  return static_cast<std::uint64_t>(*bytes);
}

std::string format_bytes(std::uint64_t bytes) {
  static constexpr std::string_view kUnits[] = {"B", "KB", "MB", "GB", "TB", "PB", "EB"};
  if (bytes < 1000) return fmt::format("{} B", bytes);
  auto value = static_cast<double>(bytes);
  std::size_t unit = 0;
  for (; value >= 999.5 && unit + 1 < std::size(kUnits); ++unit) value /= 1000;
  return fmt::format("{:.{}f} {}", value, value < kOneDecimal ? 1 : 0, kUnits[unit]);
}

std::string format_count(std::uint64_t count) {
  auto digits = fmt::format("{}", count);
  for (auto at = static_cast<std::ptrdiff_t>(digits.size()) - 3; at > 0; at -= 3)
    digits.insert(static_cast<std::size_t>(at), 1, ',');
  return digits;
}

std::string format_uptime(std::chrono::seconds up) {
  const auto s = up.count();
  if (s < 60) return fmt::format("{}s", s);
  if (s < 3600) return fmt::format("{}m", s / 60);
  if (s < 86400) return fmt::format("{}h{:02}m", s / 3600, s / 60 % 60);
  return fmt::format("{}d{:02}h", s / 86400, s / 3600 % 24);
}

std::string format_duration(std::chrono::nanoseconds duration) {
  const auto ns = static_cast<double>(duration.count());
  const auto number = [](double value, std::string_view unit) {
    const bool whole = value >= kOneDecimal || std::abs(value - std::round(value)) < 0.05;
    return fmt::format("{:.{}f} {}", value, whole ? 0 : 1, unit);
  };
  if (ns == 0) return "0 ms";
  if (ns < 1e3) return number(ns, "ns");
  if (ns < 999.5e3) return number(ns / 1e3, "µs");
  if (ns < 999.5e6) return number(ns / 1e6, "ms");
  if (ns < 119.5e9) return number(ns / 1e9, "s");
  const auto all = static_cast<std::int64_t>(std::min(std::round(ns / 1e9), 1e15));
  const std::pair<std::int64_t, std::string_view> parts[] = {
      {all / 86'400, "d"}, {all / 3'600 % 24, "h"}, {all / 60 % 60, "min"}, {all % 60, "s"}};
  const auto* first = std::ranges::find_if(parts, [](const auto& part) { return part.first > 0; });
  auto text = fmt::format("{} {}", first->first, first->second);
  if (const auto* next = first + 1; next != std::end(parts) && next->first > 0)
    text += fmt::format(" {} {}", next->first, next->second);
  return text;
}

std::optional<std::string_view> nearest(std::string_view word,
                                        const std::vector<std::string_view>& candidates) {
  const auto distance = [&](std::string_view other) {
    std::vector<std::size_t> row(other.size() + 1);
    std::iota(row.begin(), row.end(), std::size_t{0});
    for (std::size_t i = 1; i <= word.size(); ++i) {
      auto diagonal = std::exchange(row[0], i);
      for (std::size_t j = 1; j <= other.size(); ++j) {
        const auto replaced = diagonal + (lower(word[i - 1]) == lower(other[j - 1]) ? 0 : 1);
        diagonal = std::exchange(row[j], std::min({replaced, row[j] + 1, row[j - 1] + 1}));
      }
    }
    return row.back();
  };
  std::optional<std::string_view> best;
  std::size_t best_distance = std::max<std::size_t>(1, word.size() / 3) + 1;
  for (const auto candidate : candidates) {
    const auto d = distance(candidate);
    if (d < best_distance) best = candidate, best_distance = d;
  }
  return best;
}

}  // namespace clrscope
