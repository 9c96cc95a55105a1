// Strings with the same value, many times.
#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "doctor/threads.h"

namespace clrscope::doctor {
namespace {

constexpr Parameter kParameters[] = {
    {"wastedMegabytes", 10, "memory that copies of equal strings take"},
    {"wastedPercent", 10, "share of the heap in use that they take"},
};
constexpr std::size_t kShown = 5;
constexpr std::size_t kShownBytes = 60;

// The beginning of a text, cut between two characters.
std::string beginning(const std::string& text) {
  if (text.size() <= kShownBytes) return text;
  auto end = kShownBytes;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0U) == 0x80U) --end;
  return text.substr(0, end) + "…";
}

std::vector<Report> examine(const Evidence& evidence, const Parameters& parameters) {
  const auto& heap = *evidence.heap;
  const auto wasted = static_cast<double>(heap.wasted_by_strings);
  const auto percent = heap.bytes > 0 ? 100 * wasted / static_cast<double>(heap.bytes) : 0;
  if (wasted < parameters["wastedMegabytes"] * 1e6 || percent < parameters["wastedPercent"])
    return {};
  Report report{.severity = Severity::kInfo,
                .title = fmt::format("Equal strings waste {}, {:.0f} % of the heap",
                                     format_bytes(heap.wasted_by_strings), percent)};
  report.summary = "The same text is in memory many times. One copy of each would be enough.";
  for (std::size_t i = 0; i < std::min(kShown, heap.strings.size()); ++i) {
    const auto& one = heap.strings[i];
    report.details.push_back(fmt::format("{} x \"{}\", {} characters, {}", format_count(one.count),
                                         beginning(one.value), one.length,
                                         format_bytes(one.bytes)));
  }
  report.numbers = {
      {"wastedBytes", wasted, "B", fmt::format("{} wasted", format_bytes(heap.wasted_by_strings))},
      {"wastedPercent", percent, "%", fmt::format("{:.0f} % of the heap", percent)}};
  report.advice =
      "keep one instance of texts that repeat (a dictionary of known values, string.Intern for few "
      "of them), or store ids instead";
  report.next = {remedy(evidence, "heap", {{"strings", ""}})};
  return {report};
}

}  // namespace

extern const Finding equal_strings_finding{
    .id = "CS1621",
    .title = "equal strings",
    .description = "Strings with the same value that take a large share of the heap.",
    .needs = {.heap = true, .live = true, .least = std::chrono::seconds{1}},
    .price = "the copy-on-write snapshots of CS1620",
    .rights = "to stop the process and read its memory (its user, or CAP_SYS_PTRACE)",
    .parameters = kParameters,
    .examine = examine,
};

}  // namespace clrscope::doctor
