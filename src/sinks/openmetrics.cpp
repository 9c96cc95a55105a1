#include "sinks/openmetrics.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

namespace clrscope::sinks {
namespace {

bool letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool digit(char c) { return c >= '0' && c <= '9'; }

// Letters, digits and '_', the first no digit, no two '_' in a row.
std::string plain_word(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const char safe = letter(c) || digit(c) ? c : '_';
    if (safe == '_' && out.ends_with('_')) continue;
    out += safe;
  }
  if (out.empty() || digit(out[0])) out.insert(0, "_");
  return out;
}

constexpr std::pair<std::string_view, std::string_view> kUnitWords[] = {
    {"d", "days"},          {"h", "hours"},         {"min", "minutes"},    {"s", "seconds"},
    {"ms", "milliseconds"}, {"us", "microseconds"}, {"ns", "nanoseconds"}, {"By", "bytes"},
    {"KiBy", "kibibytes"},  {"MiBy", "mebibytes"},  {"GiBy", "gibibytes"}, {"KBy", "kilobytes"},
    {"MBy", "megabytes"},   {"GBy", "gigabytes"},   {"%", "percent"},      {"Hz", "hertz"},
    {"Cel", "celsius"},     {"V", "volts"},         {"A", "amperes"},      {"W", "watts"},
    {"J", "joules"},        {"g", "grams"},         {"m", "meters"},
};
constexpr std::pair<std::string_view, std::string_view> kPerWords[] = {
    {"s", "second"},
    {"min", "minute"},
    {"h", "hour"},
    {"d", "day"},
};

template <std::size_t N>
std::string word_of(const std::pair<std::string_view, std::string_view> (&table)[N],
                    std::string_view unit) {
  for (const auto& [short_word, long_word] : table)
    if (short_word == unit) return std::string{long_word};
  return unit.empty() ? std::string{} : plain_word(unit);
}

// "{request}" is no unit: what is counted stands in the name.
std::string unit_word(std::string_view unit, MetricKind kind) {
  if (unit == "1") return kind == MetricKind::kGauge ? "ratio" : "";
  std::string bare;
  int depth = 0;
  for (const char c : unit) {
    if (c == '{') ++depth;
    if (depth == 0) bare += c;
    if (c == '}' && depth > 0) --depth;
  }
  const auto slash = bare.find('/');
  if (slash == std::string::npos) return word_of(kUnitWords, bare);
  const auto per = word_of(kPerWords, std::string_view{bare}.substr(slash + 1));
  const auto what = word_of(kUnitWords, std::string_view{bare}.substr(0, slash));
  if (per.empty()) return what;
  return what.empty() ? "per_" + per : what + "_per_" + per;
}

std::string number(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "+Inf" : "-Inf";
  return fmt::format("{}", value);
}

// As OpenMetrics wants bounds and shares: "1.0", so that a series is the same in both formats.
std::string bound(double value) {
  auto text = number(value);
  if (text.find_first_of(".eIN") == std::string::npos) text += ".0";
  return text;
}

void append_escaped(std::string& out, std::string_view text, bool quotes) {
  for (const char c : text) {
    if (c == '\n')
      out += "\\n";
    else if (c == '\\')
      out += "\\\\";
    else if (c == '"' && quotes)
      out += "\\\"";
    else if (static_cast<unsigned char>(c) < 0x20)
      out += ' ';
    else
      out += c;
  }
}

// Bytes that are no UTF-8 would make the whole scrape invalid.
std::string utf8(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size();) {
    const auto lead = static_cast<unsigned char>(text[i]);
    const std::size_t size = lead < 0x80   ? 1
                             : lead < 0xc2 ? 0
                             : lead < 0xe0 ? 2
                             : lead < 0xf0 ? 3
                             : lead < 0xf5 ? 4
                                           : 0;
    bool good = size > 0 && i + size <= text.size();
    for (std::size_t k = 1; good && k < size; ++k)
      good = (static_cast<unsigned char>(text[i + k]) & 0xc0) == 0x80;
    if (good)
      out += text.substr(i, size);
    else
      out += "\xef\xbf\xbd";
    i += good ? size : 1;
  }
  return out;
}

class Page {
 public:
  explicit Page(TextFormat format) : format_(format) {}

  // Lines about a family, before its samples.
  void head(const std::string& name, std::string_view unit, std::string_view help,
            MetricKind kind) {
    const bool open = format_ == TextFormat::kOpenMetrics;
    const auto shown = kind == MetricKind::kCounter && !open ? name + "_total" : name;
    if (!help.empty()) {
      out_ += fmt::format("# HELP {} ", shown);
      append_escaped(out_, utf8(help), open);
      out_ += '\n';
    }
    out_ += fmt::format("# TYPE {} {}\n", shown, type_word(kind));
    if (open && !unit.empty() && name.ends_with(fmt::format("_{}", unit)))
      out_ += fmt::format("# UNIT {} {}\n", shown, unit);
  }

  void sample(std::string_view name, std::string_view suffix, const std::string& labels,
              double value, std::string_view extra_name = {}, const std::string& extra = {}) {
    out_ += name;
    out_ += suffix;
    if (!labels.empty() || !extra_name.empty()) {
      out_ += '{';
      out_ += labels;
      if (!extra_name.empty())
        out_ += fmt::format("{}{}=\"{}\"", labels.empty() ? "" : ",", extra_name, extra);
      out_ += '}';
    }
    out_ += ' ';
    out_ += number(value);
    out_ += '\n';
  }

  std::string take() && {
    if (format_ == TextFormat::kOpenMetrics) out_ += "# EOF\n";
    return std::move(out_);
  }

  static std::string_view type_word(MetricKind kind) {
    switch (kind) {
      case MetricKind::kCounter:
        return "counter";
      case MetricKind::kHistogram:
        return "histogram";
      case MetricKind::kSummary:
        return "summary";
      default:
        return "gauge";
    }
  }

 private:
  TextFormat format_;
  std::string out_;
};

std::string labels_of(const MetricFamily& family, const MetricSeries& series) {
  // Two tags may become one label: their values are joined, as OpenTelemetry has it.
  std::vector<std::pair<std::string, std::string>> labels = {{"process", series.process},
                                                             {"pid", fmt::format("{}", series.pid)},
                                                             {"runtime", series.runtime},
                                                             {"otel_scope_name", family.provider}};
  const auto own = labels.size();
  for (const auto& [name, value] : series.tags) {
    auto word = plain_word(name);
    for (std::size_t i = 0; i < own; ++i)
      if (labels[i].first == word || word == "le" || word == "quantile") {
        word.insert(0, "tag_");
        break;
      }
    if (word.starts_with("__")) word.erase(0, 1);
    const auto same = std::ranges::find(labels, word, &std::pair<std::string, std::string>::first);
    if (same == labels.end())
      labels.emplace_back(std::move(word), value);
    else
      same->second += ";" + value;
  }
  std::string out;
  for (const auto& [name, value] : labels) {
    if (value.empty()) continue;
    if (!out.empty()) out += ',';
    out += name;
    out += "=\"";
    append_escaped(out, utf8(value), true);
    out += '"';
  }
  return out;
}

void append_series(Page& page, const std::string& name, const MetricFamily& family,
                   const MetricSeries& series, const std::string& labels) {
  switch (family.kind) {
    case MetricKind::kCounter:
      return page.sample(name, "_total", labels, series.value);
    case MetricKind::kHistogram: {
      std::uint64_t below = 0;
      for (const auto& [upper, count] : series.buckets) {
        below += count;
        if (std::isfinite(upper))
          page.sample(name, "_bucket", labels, static_cast<double>(below), "le", bound(upper));
      }
      page.sample(name, "_bucket", labels, static_cast<double>(below), "le", "+Inf");
      if (series.sum) page.sample(name, "_sum", labels, *series.sum);
      return page.sample(name, "_count", labels, static_cast<double>(below));
    }
    case MetricKind::kSummary:
      for (const auto& [share, value] : series.quantiles)
        page.sample(name, "", labels, value, "quantile", bound(share));
      if (series.sum) page.sample(name, "_sum", labels, *series.sum);
      return page.sample(name, "_count", labels, static_cast<double>(series.count));
    default:
      return page.sample(name, "", labels, series.value);
  }
}

}  // namespace

std::string_view content_type(TextFormat format) {
  return format == TextFormat::kOpenMetrics
             ? "application/openmetrics-text; version=1.0.0; charset=utf-8"
             : "text/plain; version=0.0.4; charset=utf-8";
}

std::string prometheus_name(std::string_view name, std::string_view unit, MetricKind kind) {
  auto out = plain_word(name);
  if (kind == MetricKind::kCounter && out.ends_with("_total")) out.resize(out.size() - 6);
  const auto word = unit_word(unit, kind);
  while (out.size() > 1 && out.ends_with('_')) out.pop_back();
  if (!word.empty() && !out.ends_with("_" + word)) out += (out.ends_with('_') ? "" : "_") + word;
  return out;
}

std::string dotnet_monitor_name(std::string_view provider, std::string_view name,
                                std::string_view unit) {
  std::string out;
  for (const char c : provider)
    if (letter(c) || c == '_' || (digit(c) && !out.empty()))
      out += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  if (out.empty()) out = "_";
  const auto append = [&](std::string_view text) {
    out += '_';
    for (std::size_t i = 0; i < text.size(); ++i)
      out += letter(text[i]) || (digit(text[i]) && i > 0) ? text[i] : '_';
  };
  append(name);
  if (unit == "B" || unit == "MB")
    append("bytes");
  else if (unit == "%")
    append("ratio");
  else if (!unit.empty() && unit != "count" && unit != "Count")
    append(unit);
  return out;
}

std::string metrics_text(const MetricStore& store, MetricNames names, TextFormat format,
                         std::span<const OwnMetric> own) {
  // One name, one block: meters that share a name share it.
  std::map<std::string, std::vector<const MetricFamily*>> by_name;
  for (const auto& [key, family] : store.families()) {
    auto name = names == MetricNames::kOtel
                    ? prometheus_name(family.name, family.unit, family.kind)
                    : dotnet_monitor_name(family.provider, family.name, family.unit);
    const auto type = Page::type_word(family.kind);
    if (const auto same = by_name.find(name);
        same != by_name.end() && Page::type_word(same->second[0]->kind) != type)
      name += fmt::format("_{}", type);
    by_name[std::move(name)].push_back(&family);
  }
  Page page{format};
  std::uint64_t clashing = 0;
  for (const auto& [name, families] : by_name) {
    const auto& first = *families[0];
    page.head(name, names == MetricNames::kOtel ? unit_word(first.unit, first.kind) : "",
              first.help, first.kind);
    // "a.b" and "a b" are one name here: a page that has a series twice is refused as a whole.
    std::set<std::string> written;
    for (const auto* family : families)
      for (const auto& [key, series] : family->series) {
        const auto [labels, is_new] = written.insert(labels_of(*family, series));
        if (is_new)
          append_series(page, name, *family, series, *labels);
        else
          ++clashing;
      }
  }
  if (clashing != 0) {
    page.head("clrscope_series_clashing", {},
              "Left out: their names and labels are the same as those of other series.",
              MetricKind::kGauge);
    page.sample("clrscope_series_clashing", "", {}, static_cast<double>(clashing));
  }
  std::string_view before;
  for (const auto& metric : own) {
    const std::string name{metric.name};
    if (name != before) page.head(name, {}, metric.help, metric.kind);
    before = metric.name;
    std::string labels;
    for (const auto& [label, value] : metric.labels) {
      if (!labels.empty()) labels += ',';
      labels += fmt::format("{}=\"", label);
      append_escaped(labels, utf8(value), true);
      labels += '"';
    }
    page.sample(name, metric.kind == MetricKind::kCounter ? "_total" : "", labels, metric.value);
  }
  return std::move(page).take();
}

}  // namespace clrscope::sinks
