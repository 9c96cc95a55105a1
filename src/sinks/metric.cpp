#include "sinks/metric.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "base/checksum.h"
#include "base/text.h"
#include "hub/otel_names.h"

namespace clrscope::sinks {
namespace {

using hub::CounterKind;
using hub::CounterValue;

constexpr std::array kShares{0.5, 0.95, 0.99};
constexpr std::array<std::string_view, 7> kWords{"prefix",   "host", "process", "pid",
                                                 "provider", "name", "tags"};

bool stays(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
         c == '_';
}

// 0.5 → "p50", 0.999 → "p99_9"
std::string quantile_name(double share) {
  auto text = fmt::format("p{:g}", share * 100);
  std::ranges::replace(text, '.', '_');
  return text;
}

void add_distribution(std::vector<Point>& points, const CounterValue& value, double scale) {
  for (const auto& [share, at] : value.quantiles)
    points.push_back({quantile_name(share), at * scale});
  if (value.quantiles.empty())
    for (const auto share : kShares)
      if (const auto at = hub::quantile_of(value.buckets, share))
        points.push_back({quantile_name(share), *at * scale});
  points.push_back({"count", static_cast<double>(value.count), PointKind::kAmount});
  if (value.sum) points.push_back({"sum", *value.sum * scale, PointKind::kAmount});
}

std::vector<Point> points_of(const CounterValue& value, double scale, bool is_total) {
  std::vector<Point> points;
  switch (value.kind) {
    case CounterKind::kRate:
      points.push_back({"rate", shown_value(value) * scale, PointKind::kRate});
      points.push_back({"", value.value * scale, PointKind::kIncrement});
      if (value.total) points.push_back({"total", *value.total * scale, PointKind::kTotal});
      break;
    case CounterKind::kHistogram:
      add_distribution(points, value, scale);
      break;
    case CounterKind::kMean:
      points.push_back({is_total ? "total" : "", value.value * scale,
                        is_total ? PointKind::kTotal : PointKind::kValue});
      if (value.sum) {  // of recordings that we saw, not a gauge that was polled
        points.push_back({"count", static_cast<double>(value.count), PointKind::kAmount});
        points.push_back({"sum", *value.sum * scale, PointKind::kAmount});
        if (value.min) points.push_back({"min", *value.min * scale});
        if (value.max) points.push_back({"max", *value.max * scale});
      }
      break;
    default:
      points.push_back({is_total ? "total" : "", value.value * scale,
                        is_total ? PointKind::kTotal : PointKind::kValue});
  }
  std::erase_if(points, [](const auto& one) { return !std::isfinite(one.value); });
  return points;
}

}  // namespace

Metric metric_of(const CounterValue& value, Names names) {
  Metric metric{.time = value.time,
                .pid = value.pid,
                .process = value.process,
                .provider = value.provider,
                .name = value.name,
                .tags = value.tags};
  double scale = 1;
  bool is_total = false;
  if (names == Names::kOtel) {
    auto otel = otel_name(value);
    metric.name = std::move(otel.name);
    scale = otel.scale;
    is_total = otel.total;
    for (auto& tag : otel.tags) metric.tags.push_back(std::move(tag));
  }
  std::ranges::stable_sort(metric.tags, {}, &std::pair<std::string, std::string>::first);
  metric.points = points_of(value, scale, is_total);
  return metric;
}

std::string number_text(double value) {
  constexpr double kExact = 9'007'199'254'740'992;  // 2^53
  if (std::trunc(value) == value && std::abs(value) <= kExact)
    return fmt::format("{}", static_cast<std::int64_t>(value));
  return fmt::format("{}", value);
}

std::string plain_part(std::string_view text) {
  constexpr std::size_t kLongest = 120;  // a file's name in whisper
  std::string plain;
  for (const char c : text.substr(0, kLongest)) plain += stays(c) ? c : '_';
  if (text.size() > kLongest) plain += fmt::format("_{:08x}", crc32_of(as_bytes(text)));
  return plain;
}

std::string plain_path(std::string_view text) {
  constexpr std::size_t kMostParts = 20;
  std::string path;
  std::size_t parts = 0;
  for (const auto part : split(text, '.')) {
    if (part.empty()) continue;
    // The rest of one that is too deep is a part of its own.
    const bool last = ++parts == kMostParts;
    if (!path.empty()) path += '.';
    path +=
        plain_part(last ? text.substr(static_cast<std::size_t>(part.data() - text.data())) : part);
    if (last) break;
  }
  return path;
}

Result<PathTemplate> PathTemplate::parse(std::string_view text) {
  PathTemplate made;
  auto rest = text;
  while (!rest.empty()) {
    const auto open = rest.find('{');
    std::string literal;
    for (const char c : rest.substr(0, open)) literal += stays(c) || c == '.' ? c : '_';
    if (!literal.empty()) made.pieces_.push_back({std::move(literal)});
    if (open == std::string_view::npos) break;
    const auto close = rest.find('}', open);
    const auto word =
        rest.substr(open + 1, close == std::string_view::npos ? close : close - open - 1);
    if (close == std::string_view::npos || std::ranges::find(kWords, word) == kWords.end())
      return fail(Errc::kUsage, "template '{}': unknown placeholder {{{}}}", text, word)
          .hint("use {{{}}}", fmt::join(kWords, "} {"));
    made.pieces_.push_back({std::string{word}, true});
    rest.remove_prefix(close + 1);
  }
  return made;
}

std::string PathTemplate::expand(std::string_view prefix, std::string_view host,
                                 const Metric& metric) const {
  std::string path;
  for (const auto& [text, word] : pieces_) {
    if (!word) {
      path += text;
    } else if (text == "prefix") {
      path += plain_path(prefix);
    } else if (text == "host") {
      path += plain_part(host);
    } else if (text == "process") {
      path += plain_part(metric.process);
    } else if (text == "pid") {
      path += std::to_string(metric.pid);
    } else if (text == "provider") {
      path += plain_part(metric.provider);
    } else if (text == "name") {
      path += plain_path(metric.name);
    } else {
      for (const auto& [key, value] : metric.tags)
        path += fmt::format("{}{}.{}", &key == &metric.tags.front().first ? "" : ".",
                            plain_part(key), value.empty() ? "_" : plain_part(value));
    }
  }
  // What was empty leaves no trace.
  std::string tidy;
  for (const char c : path)
    if (c != '.' || (!tidy.empty() && tidy.back() != '.')) tidy += c;
  while (tidy.ends_with('.')) tidy.pop_back();
  return tidy;
}

bool SeriesLimit::admits(std::string_view series, TraceTime now) {
  constexpr std::chrono::minutes kLong{10};
  constexpr std::chrono::seconds kOften{10};
  const auto key = std::hash<std::string_view>{}(series);
  if (const auto at = seen_.find(key); at != seen_.end()) {
    at->second = now;
    return true;
  }
  if (seen_.size() >= most_ && now - tidied_ > kOften) {
    tidied_ = now;
    std::erase_if(seen_, [&](const auto& one) { return now - one.second > kLong; });
  }
  if (seen_.size() >= most_) return false;
  seen_.emplace(key, now);
  return true;
}

}  // namespace clrscope::sinks
