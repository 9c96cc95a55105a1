// A store of metrics as the text that Prometheus scrapes: OpenMetrics, or the older text format.
//
// Pure: values in, text out. Names follow OpenTelemetry's rules for Prometheus: dots become '_',
// the unit is appended, counters end in _total. docs/forwarding.md
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sinks/metric_store.h"

namespace clrscope::sinks {

enum class TextFormat : std::uint8_t { kOpenMetrics, kPrometheus };
std::string_view content_type(TextFormat format);

// "dotnet.gc.pause.time", "s" → "dotnet_gc_pause_time_seconds"; without _total.
std::string prometheus_name(std::string_view name, std::string_view unit, MetricKind kind);
// "System.Runtime", "cpu-usage", "%" → "systemruntime_cpu_usage_ratio"
std::string dotnet_monitor_name(std::string_view provider, std::string_view name,
                                std::string_view unit);

// A number of our own, beside those of the processes.
struct OwnMetric {
  std::string_view name;  // of a counter: without _total
  std::string_view help;
  MetricKind kind;
  double value;
  // Metrics of one name stand together, each with labels of its own.
  std::vector<std::pair<std::string_view, std::string>> labels{};
};

std::string metrics_text(const MetricStore& store, MetricNames names, TextFormat format,
                         std::span<const OwnMetric> own);

}  // namespace clrscope::sinks
