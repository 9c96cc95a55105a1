#include "cli/counter_board.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "answer/text.h"
#include "base/printable.h"
#include "base/text.h"
#include "cli/console.h"

namespace clrscope::cli {
namespace {

constexpr std::size_t kNumberWidth = 14;
constexpr std::size_t kSparkWidth = 24;
constexpr std::size_t kLeastSparkWidth = 8;  // long titles may take the rest

std::string process_title(pid_t pid, const std::string& name) {
  return fmt::format("{} ({})", name, pid);
}

}  // namespace

std::string sparkline(const std::deque<double>& values, std::size_t width) {
  constexpr std::string_view kSteps[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  const auto shown = std::min(width, values.size());
  const auto first = values.end() - static_cast<std::ptrdiff_t>(shown);
  if (shown == 0) return {};
  const auto [low, high] = std::minmax_element(first, values.end());
  std::string line;
  for (auto at = first; at != values.end(); ++at) {
    const auto share = *high > *low ? (*at - *low) / (*high - *low) : 0.0;
    line += kSteps[std::min<std::size_t>(7, static_cast<std::size_t>(share * 8))];
  }
  return line;
}

std::string readable_number(double value) {
  if (!std::isfinite(value)) return "?";
  if (std::abs(value) >= 1e15) return fmt::format("{:.3e}", value);
  if (value == std::floor(value))
    return (value < 0 ? "-" : "") + format_count(static_cast<std::uint64_t>(std::abs(value)));
  return std::abs(value) >= 1000 ? fmt::format("{:.1f}", value) : fmt::format("{:.3g}", value);
}

void CounterBoard::add(std::span<const ops::CounterValue> values) {
  const auto put = [&](const ops::CounterValue& value, const std::string& title, double number) {
    auto& row = rows_[{process_title(value.pid, value.process), value.provider, title}];
    row.title = printable(title);
    row.now = readable_number(number);
    row.history.push_back(number);
    if (row.history.size() > kHistory) row.history.pop_front();
  };
  for (const auto& value : values) {
    auto title = ops::counter_title(value);
    if (!value.tags.empty()) title += fmt::format(" [{}]", value.tags_text());
    if (value.kind != ops::CounterKind::kHistogram) {
      put(value, title, ops::shown_value(value));
      continue;
    }
    for (const auto& [share, one] : ops::shown_quantiles(value))
      put(value, fmt::format("{} p{:g}", title, share * 100), one);
  }
}

void CounterBoard::forget(pid_t pid, const std::string& process) {
  std::erase_if(rows_, [title = process_title(pid, process)](const auto& row) {
    return std::get<0>(row.first) == title;
  });
}

std::string CounterBoard::text(std::size_t width, std::size_t height) const {
  std::size_t longest = 0;
  for (const auto& [key, row] : rows_) longest = std::max(longest, display_width(row.title) + 4);
  const bool sparks = width > kNumberWidth + kSparkWidth + 14;
  const auto left = width > kNumberWidth + 4 ? width - kNumberWidth - 2 : width;
  const auto titles =
      sparks ? std::clamp(longest, left - kSparkWidth - 2, left - kLeastSparkWidth - 2) : left;
  std::string out, process, provider;
  std::size_t lines = 0;
  const auto line = [&](const std::string& text) {
    if (++lines < height) out += text + "\n";
  };
  for (const auto& [key, row] : rows_) {
    if (std::get<0>(key) != process) {
      if (!process.empty()) line("");
      line(process = std::get<0>(key));
      provider.clear();
    }
    if (std::get<1>(key) != provider) line("  " + (provider = std::get<1>(key)));
    auto title = cut_middle("    " + row.title, titles);
    title.append(titles - std::min(titles, display_width(title)), ' ');
    line(fmt::format("{}{:>{}}{}", title, row.now, kNumberWidth,
                     sparks ? "  " + sparkline(row.history, left - titles - 2) : ""));
  }
  if (lines >= height) out += fmt::format("… {} more lines\n", lines - height + 1);
  return out;
}

}  // namespace clrscope::cli
