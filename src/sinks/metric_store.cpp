#include "sinks/metric_store.h"

#include <fmt/format.h>

namespace clrscope::sinks {
namespace {

using hub::CounterKind;
using hub::OtelKind;

MetricKind kind_of(const hub::CounterValue& value, OtelKind kind) {
  switch (kind) {
    case OtelKind::kCounter:
      return MetricKind::kCounter;
    case OtelKind::kUpDownCounter:
      return MetricKind::kUpDown;
    case OtelKind::kHistogram:
      return value.buckets.empty() ? MetricKind::kSummary : MetricKind::kHistogram;
    case OtelKind::kGauge:
      break;
  }
  return MetricKind::kGauge;
}

// What dotnet-monitor makes of it: the value of the interval, whatever it is.
hub::OtelName plain_name(const hub::CounterValue& value) {
  return {.name = value.name,
          .unit = value.unit,
          .kind = value.kind == CounterKind::kHistogram ? OtelKind::kHistogram : OtelKind::kGauge,
          .scale = value.unit == "MB" ? 1e6 : 1};
}

std::string series_key(const hub::CounterValue& value, const Labels& more) {
  std::string key = fmt::format("{}", value.pid);
  for (const auto* tags : {&value.tags, &more})
    for (const auto& [name, text] : *tags) {
      key += '\0';
      key += name;
      key += '\0';
      key += text;
    }
  return key;
}

std::optional<double> scaled(std::optional<double> number, double scale) {
  if (number) *number *= scale;
  return number;
}

void add_recordings(MetricSeries& series, const hub::CounterValue& value, double scale) {
  series.count += value.count;
  if (value.sum) series.sum = series.sum.value_or(0) + *value.sum * scale;
  for (const auto& bucket : value.buckets) series.buckets[bucket.upper * scale] += bucket.count;
  series.quantiles = value.quantiles;
  for (auto& [share, number] : series.quantiles) number *= scale;
}

}  // namespace

void MetricStore::came(const hub::SourceInfo& source) {
  auto& process = processes_[source.pid];
  if (process.gone) forget(source.pid);  // another one with its number
  process = {.runtime = source.runtime, .gone = {}};
}

void MetricStore::gone(const hub::SourceInfo& source, TraceTime now) {
  const auto found = processes_.find(source.pid);
  if (found != processes_.end()) found->second.gone = now;
}

void MetricStore::expire(TraceTime now) {
  for (auto it = processes_.begin(); it != processes_.end();) {
    if (!it->second.gone || now - *it->second.gone < setting_.keep) {
      ++it;
      continue;
    }
    forget(it->first);
    it = processes_.erase(it);
  }
}

void MetricStore::forget(pid_t pid) {
  for (auto family = families_.begin(); family != families_.end();) {
    series_ -= std::erase_if(family->second.series,
                             [&](const auto& entry) { return entry.second.pid == pid; });
    family = family->second.series.empty() ? families_.erase(family) : std::next(family);
  }
}

void MetricStore::add(std::span<const hub::CounterValue> values) {
  for (const auto& value : values) add(value);
}

void MetricStore::add(const hub::CounterValue& value) {
  const auto otel =
      setting_.names == MetricNames::kOtel ? hub::otel_name(value) : plain_name(value);
  const auto kind = kind_of(value, otel.kind);
  auto key = series_key(value, otel.tags);
  const auto family_key =
      fmt::format("{}{}{}{}{}", otel.name, '\0', value.provider, '\0', static_cast<int>(kind));
  auto family = families_.find(family_key);
  const bool known = family != families_.end() && family->second.series.contains(key);
  if (!known && series_ >= setting_.limit) {
    ++refused_;
    return;
  }
  if (family == families_.end())
    family = families_
                 .emplace(family_key, MetricFamily{.provider = value.provider,
                                                   .name = otel.name,
                                                   .unit = otel.unit,
                                                   .help = value.display,
                                                   .kind = kind})
                 .first;
  auto& series = family->second.series[std::move(key)];
  if (!known) {
    ++series_;
    series.pid = value.pid;
    series.process = value.process;
    if (const auto process = processes_.find(value.pid); process != processes_.end())
      series.runtime = process->second.runtime;
    else
      processes_[value.pid];
    series.tags = value.tags;
    series.tags.insert(series.tags.end(), otel.tags.begin(), otel.tags.end());
    series.start = value.time - value.interval;
  }
  series.time = value.time;
  series.revision = ++revision_;
  series.min = scaled(value.min, otel.scale);
  series.max = scaled(value.max, otel.scale);
  if (kind == MetricKind::kHistogram || kind == MetricKind::kSummary)
    add_recordings(series, value, otel.scale);
  if (kind == MetricKind::kCounter && value.total)
    series.value = *value.total * otel.scale;
  else if (kind == MetricKind::kCounter && !otel.total)
    series.value += value.value * otel.scale;
  else if (setting_.names == MetricNames::kDotnetMonitor)
    series.value = hub::shown_value(value) * otel.scale;
  else
    series.value = value.value * otel.scale;
}

}  // namespace clrscope::sinks
