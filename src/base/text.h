// Text in and out: splitting, numbers, durations and sizes as people write them.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace clrscope {

std::vector<std::string_view> split(std::string_view text, char separator);
std::string_view trim(std::string_view text);
bool equal_ignoring_case(std::string_view a, std::string_view b);

// The whole text as a number: decimal, or hexadecimal after 0x.
std::optional<std::uint64_t> parse_number(std::string_view text);

// `*` stands for any run of characters, `?` for one; the whole text must match.
bool glob_match(std::string_view pattern, std::string_view text);

// "30", "30s", "5m", "2h", "1d", "500ms", "00:00:30", "01:00:00:30" (days first).
Result<std::chrono::nanoseconds> parse_duration(std::string_view text);

// "1000", "64KiB", "64MB", "1.5GiB"; a bare number is bytes. KB, MB, GB are powers of 1000.
Result<std::uint64_t> parse_size(std::string_view text);

std::string format_bytes(std::uint64_t bytes);                   // "6.8 MB"
std::string format_count(std::uint64_t count);                   // "29,870"
std::string format_uptime(std::chrono::seconds up);              // "3d04h", "11m", "42s"
std::string format_duration(std::chrono::nanoseconds duration);  // "4.2 ms", "30 s", "2 min 23 s"

// The candidate nearest to a mistyped word, if any is near enough to be meant.
std::optional<std::string_view> nearest(std::string_view word,
                                        const std::vector<std::string_view>& candidates);

}  // namespace clrscope
