#include "hub/otel_names.h"

#include "model/provider_names.h"

namespace clrscope::hub {
namespace {

struct Row {
  std::string_view provider, counter;
  std::string_view name, unit;
  OtelKind kind;
  double scale = 1;
  bool total = false;
  std::string_view tag{}, tag_value{};
  bool convention = true;
};

constexpr auto kCounter = OtelKind::kCounter;
constexpr auto kUpDown = OtelKind::kUpDownCounter;
constexpr auto kGauge = OtelKind::kGauge;

constexpr std::string_view kRuntime = kSystemRuntimeProvider;
constexpr std::string_view kHosting = kHostingProvider;
constexpr std::string_view kKestrel = kKestrelProvider;
constexpr std::string_view kHttp = kHttpProvider;
constexpr std::string_view kGeneration = "gc.heap.generation";
constexpr std::string_view kHeapSize = "dotnet.gc.last_collection.heap.size";
// The conventions count a collection once, EventCounters in every younger generation too. That is
// another number, so it has another name.
constexpr std::string_view kInclusive = "dotnet.gc.collections.inclusive";
constexpr double kMega = 1e6, kPercent = 0.01, kMilli = 1e-3;

// What .NET's own EventCounters are. `convention = false`: it has no name there, we chose one.
constexpr Row kRows[] = {
    {kRuntime, "cpu-usage", "process.cpu.utilization", "1", kGauge, kPercent},
    {kRuntime, "working-set", "dotnet.process.memory.working_set", "By", kUpDown, kMega},
    {kRuntime, "gc-heap-size", "dotnet.gc.heap.size", "By", kUpDown, kMega, false, "", "", false},
    {kRuntime, "gen-0-gc-count", kInclusive, "{collection}", kCounter, 1, false, kGeneration,
     "gen0", false},
    {kRuntime, "gen-1-gc-count", kInclusive, "{collection}", kCounter, 1, false, kGeneration,
     "gen1", false},
    {kRuntime, "gen-2-gc-count", kInclusive, "{collection}", kCounter, 1, false, kGeneration,
     "gen2", false},
    {kRuntime, "gen-0-gc-budget", "dotnet.gc.gen0.budget", "By", kUpDown, kMega, false, "", "",
     false},
    {kRuntime, "threadpool-thread-count", "dotnet.thread_pool.thread.count", "{thread}", kUpDown},
    {kRuntime, "monitor-lock-contention-count", "dotnet.monitor.lock_contentions", "{contention}",
     kCounter},
    {kRuntime, "threadpool-queue-length", "dotnet.thread_pool.queue.length", "{work_item}",
     kUpDown},
    {kRuntime, "threadpool-completed-items-count", "dotnet.thread_pool.work_item.count",
     "{work_item}", kCounter},
    {kRuntime, "alloc-rate", "dotnet.gc.heap.total_allocated", "By", kCounter},
    {kRuntime, "active-timer-count", "dotnet.timer.count", "{timer}", kUpDown},
    {kRuntime, "gc-fragmentation", "dotnet.gc.last_collection.heap.fragmentation.ratio", "1",
     kGauge, kPercent, false, "", "", false},
    {kRuntime, "gc-committed", "dotnet.gc.last_collection.memory.committed_size", "By", kUpDown,
     kMega},
    {kRuntime, "exception-count", "dotnet.exceptions", "{exception}", kCounter},
    {kRuntime, "time-in-gc", "dotnet.gc.time.ratio", "1", kGauge, kPercent, false, "", "", false},
    {kRuntime, "total-pause-time-by-gc", "dotnet.gc.pause.time", "s", kCounter, kMilli},
    {kRuntime, "gen-0-size", kHeapSize, "By", kUpDown, 1, false, kGeneration, "gen0"},
    {kRuntime, "gen-1-size", kHeapSize, "By", kUpDown, 1, false, kGeneration, "gen1"},
    {kRuntime, "gen-2-size", kHeapSize, "By", kUpDown, 1, false, kGeneration, "gen2"},
    {kRuntime, "loh-size", kHeapSize, "By", kUpDown, 1, false, kGeneration, "loh"},
    {kRuntime, "poh-size", kHeapSize, "By", kUpDown, 1, false, kGeneration, "poh"},
    {kRuntime, "assembly-count", "dotnet.assembly.count", "{assembly}", kUpDown},
    {kRuntime, "il-bytes-jitted", "dotnet.jit.compiled_il.size", "By", kCounter, 1, true},
    {kRuntime, "methods-jitted-count", "dotnet.jit.compiled_methods", "{method}", kCounter, 1,
     true},
    {kRuntime, "time-in-jit", "dotnet.jit.compilation.time", "s", kCounter, kMilli},
    {kHosting, "current-requests", "http.server.active_requests", "{request}", kUpDown},
    {kHosting, "requests-per-second", "http.server.requests", "{request}", kCounter, 1, false, "",
     "", false},
    {kHosting, "total-requests", "http.server.requests.total", "{request}", kCounter, 1, true, "",
     "", false},
    {kHosting, "failed-requests", "http.server.requests.failed", "{request}", kCounter, 1, true, "",
     "", false},
    {kKestrel, "current-connections", "kestrel.active_connections", "{connection}", kUpDown},
    {kKestrel, "connection-queue-length", "kestrel.queued_connections", "{connection}", kUpDown},
    {kKestrel, "request-queue-length", "kestrel.queued_requests", "{request}", kUpDown},
    {kKestrel, "current-upgraded-requests", "kestrel.upgraded_connections", "{connection}",
     kUpDown},
    {kKestrel, "current-tls-handshakes", "kestrel.active_tls_handshakes", "{handshake}", kUpDown},
    {kHttp, "current-requests", "http.client.active_requests", "{request}", kUpDown},
    {kHttp, "http11-connections-current-total", "http.client.open_connections", "{connection}",
     kUpDown, 1, false, "network.protocol.version", "1.1"},
    {kHttp, "http20-connections-current-total", "http.client.open_connections", "{connection}",
     kUpDown, 1, false, "network.protocol.version", "2"},
    {kHttp, "http30-connections-current-total", "http.client.open_connections", "{connection}",
     kUpDown, 1, false, "network.protocol.version", "3"},
};

// Units as EventCounters write them.
constexpr std::pair<std::string_view, std::pair<std::string_view, double>> kUnits[] = {
    {"B", {"By", 1}}, {"KB", {"By", 1e3}},      {"MB", {"By", 1e6}},
    {"%", {"%", 1}},  {"count", {"{item}", 1}}, {"Count", {"{item}", 1}},
};

OtelKind kind_of(CounterKind kind) {
  switch (kind) {
    case CounterKind::kRate:
      return OtelKind::kCounter;
    case CounterKind::kUpDown:
      return OtelKind::kUpDownCounter;
    case CounterKind::kHistogram:
      return OtelKind::kHistogram;
    default:
      return OtelKind::kGauge;
  }
}

// Lower case, words joined by '_', as the conventions write names.
std::string dotted(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const bool upper = c >= 'A' && c <= 'Z';
    const bool plain = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '.';
    out += upper ? static_cast<char>(c - 'A' + 'a') : plain ? c : '_';
  }
  return out;
}

}  // namespace

std::string_view name_of(OtelKind kind) {
  switch (kind) {
    case OtelKind::kCounter:
      return "counter";
    case OtelKind::kUpDownCounter:
      return "updowncounter";
    case OtelKind::kGauge:
      return "gauge";
    case OtelKind::kHistogram:
      return "histogram";
  }
  return "";
}

OtelName otel_name(const CounterValue& value) {
  OtelName out{.name = value.name, .unit = value.unit, .kind = kind_of(value.kind)};
  if (value.meter) {
    out.convention = true;
    return out;
  }
  for (const auto& row : kRows) {
    if (row.counter != value.name || row.provider != value.provider) continue;
    out = {.name = std::string{row.name},
           .unit = std::string{row.unit},
           .kind = row.kind,
           .scale = row.scale,
           .total = row.total,
           .convention = row.convention};
    if (!row.tag.empty()) out.tags.emplace_back(row.tag, row.tag_value);
    return out;
  }
  out.name = dotted(value.provider) + "." + dotted(value.name);
  for (const auto& [unit, other] : kUnits)
    if (value.unit == unit) {
      out.unit = other.first;
      out.scale = other.second;
    }
  return out;
}

}  // namespace clrscope::hub
