#include "sinks/otlp_message.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "base/proto_writer.h"

namespace clrscope::sinks {
namespace {

constexpr std::uint64_t kCumulative = 2;

std::uint64_t nanoseconds(WallTime time) {
  return static_cast<std::uint64_t>(std::max<std::int64_t>(0, time.time_since_epoch().count()));
}

void put_text(ProtoWriter& out, std::uint32_t field, std::string_view key, std::string_view value) {
  ProtoWriter any, pair;
  any.text(1, value);
  pair.text(1, key);
  pair.message(2, any);
  out.message(field, pair);
}

void put_integer(ProtoWriter& out, std::uint32_t field, std::string_view key, std::int64_t value) {
  ProtoWriter any, pair;
  any.varint(3, static_cast<std::uint64_t>(value));
  pair.text(1, key);
  pair.message(2, any);
  out.message(field, pair);
}

ProtoWriter resource_of(const MetricSeries& series, const OtlpContext& context) {
  ProtoWriter resource;
  put_text(resource, 1, "service.name", series.process);
  put_integer(resource, 1, "process.pid", series.pid);
  put_text(resource, 1, "process.runtime.name", ".NET");
  if (!series.runtime.empty()) put_text(resource, 1, "process.runtime.version", series.runtime);
  if (!context.host.empty()) put_text(resource, 1, "host.name", context.host);
  return resource;
}

void put_times(ProtoWriter& point, const MetricSeries& series) {
  point.fixed64(2, nanoseconds(series.start));
  point.fixed64(3, nanoseconds(series.time));
}

ProtoWriter number_point(const MetricSeries& series) {
  ProtoWriter point;
  put_times(point, series);
  point.number(4, series.value);
  for (const auto& [key, value] : series.tags) put_text(point, 7, key, value);
  return point;
}

ProtoWriter histogram_point(const MetricSeries& series) {
  ProtoWriter point, counts, bounds;
  put_times(point, series);
  std::uint64_t all = 0, above = 0;
  for (const auto& [upper, count] : series.buckets) {
    all += count;
    if (!std::isfinite(upper)) {
      above += count;
      continue;
    }
    bounds.append(upper);
    counts.append(count);
  }
  counts.append(above);
  point.fixed64(4, all);
  if (series.sum) point.number(5, *series.sum);
  point.message(6, counts);
  point.message(7, bounds);
  for (const auto& [key, value] : series.tags) put_text(point, 9, key, value);
  return point;
}

ProtoWriter summary_point(const MetricSeries& series) {
  ProtoWriter point;
  put_times(point, series);
  point.fixed64(4, series.count);
  point.number(5, series.sum.value_or(0));
  for (const auto& [share, value] : series.quantiles) {
    ProtoWriter quantile;
    quantile.number(1, share);
    quantile.number(2, value);
    point.message(6, quantile);
  }
  for (const auto& [key, value] : series.tags) put_text(point, 7, key, value);
  return point;
}

// The points of one process; nothing when none is new.
ProtoWriter data_of(const MetricFamily& family, pid_t pid, std::uint64_t since,
                    std::uint32_t& points) {
  ProtoWriter data;
  for (const auto& [key, series] : family.series) {
    if (series.pid != pid || series.revision <= since) continue;
    ++points;
    if (family.kind == MetricKind::kHistogram)
      data.message(1, histogram_point(series));
    else if (family.kind == MetricKind::kSummary)
      data.message(1, summary_point(series));
    else
      data.message(1, number_point(series));
  }
  return data;
}

void put_metric(ProtoWriter& scope, const MetricFamily& family, ProtoWriter data) {
  ProtoWriter metric;
  metric.text(1, family.name);
  if (!family.help.empty() && family.help != family.name) metric.text(2, family.help);
  metric.text(3, family.unit);
  switch (family.kind) {
    case MetricKind::kGauge:
      metric.message(5, data);
      break;
    case MetricKind::kCounter:
    case MetricKind::kUpDown:
      data.varint(2, kCumulative);
      data.boolean(3, family.kind == MetricKind::kCounter);
      metric.message(7, data);
      break;
    case MetricKind::kHistogram:
      data.varint(2, kCumulative);
      metric.message(9, data);
      break;
    case MetricKind::kSummary:
      metric.message(11, data);
      break;
  }
  scope.message(2, metric);
}

OtlpRequest request_of(const MetricStore& store, pid_t pid, std::uint64_t since,
                       const OtlpContext& context) {
  OtlpRequest request;
  const MetricSeries* any = nullptr;
  std::map<std::string, ProtoWriter> scopes;
  for (const auto& [key, family] : store.families()) {
    auto data = data_of(family, pid, since, request.points);
    if (data.bytes().empty()) continue;
    for (const auto& [tags, series] : family.series)
      if (series.pid == pid) any = &series;
    auto [scope, is_new] = scopes.try_emplace(family.provider);
    if (is_new) {
      ProtoWriter name;
      name.text(1, family.provider);
      scope->second.message(1, name);
    }
    put_metric(scope->second, family, std::move(data));
  }
  if (!any) return request;
  ProtoWriter of_process, whole;
  of_process.message(1, resource_of(*any, context));
  for (const auto& [name, scope] : scopes) of_process.message(2, scope);
  whole.message(1, of_process);
  request.bytes = std::move(whole).take();
  return request;
}

// Fields of a message, read from bytes that may be anything. False at the end, or at nonsense.
struct ProtoReader {
  std::string_view rest;
  std::uint32_t field = 0, type = 0;
  std::uint64_t number = 0;
  std::string_view text{};

  bool varint(std::uint64_t& value) {
    value = 0;
    for (unsigned shift = 0; shift < 64 && !rest.empty(); shift += 7) {
      const auto byte = static_cast<unsigned char>(rest[0]);
      rest.remove_prefix(1);
      value |= static_cast<std::uint64_t>(byte & 0x7fU) << shift;
      if (byte < 0x80) return true;
    }
    return false;
  }
  bool skip(std::uint64_t size) {
    if (size > rest.size()) return false;
    text = rest.substr(0, size);
    rest.remove_prefix(size);
    return true;
  }
  bool next() {
    std::uint64_t tag = 0;
    if (!varint(tag)) return false;
    field = static_cast<std::uint32_t>(tag >> 3U);
    type = tag & 7U;
    if (type == 0) return varint(number);
    if (type == 1) return skip(8);
    if (type == 5) return skip(4);
    std::uint64_t size = 0;
    return type == 2 && varint(size) && skip(size);
  }
};

// Up to the first character that is none of base64.
std::string from_base64(std::string_view text) {
  constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  std::uint32_t bits = 0;
  int count = 0;
  for (const char c : text) {
    const auto digit = kDigits.find(c);
    if (digit == std::string_view::npos) break;
    bits = bits << 6U | static_cast<std::uint32_t>(digit);
    count += 6;
    if (count < 8) continue;
    count -= 8;
    out += static_cast<char>(bits >> static_cast<unsigned>(count) & 0xffU);
  }
  return out;
}

// The messages in a field.
std::vector<std::string_view> members(std::string_view message, std::uint32_t field) {
  std::vector<std::string_view> all;
  ProtoReader reader{.rest = message};
  while (reader.next())
    if (reader.field == field && reader.type == 2) all.push_back(reader.text);
  return all;
}

}  // namespace

std::vector<OtlpRequest> otlp_requests(const MetricStore& store, std::uint64_t since,
                                       const OtlpContext& context) {
  std::set<pid_t> pids;
  for (const auto& [key, family] : store.families())
    for (const auto& [tags, series] : family.series)
      if (series.revision > since) pids.insert(series.pid);
  std::vector<OtlpRequest> requests;
  for (const auto pid : pids) requests.push_back(request_of(store, pid, since, context));
  return requests;
}

OtlpAnswer read_otlp_answer(std::string_view bytes) {
  OtlpAnswer answer;
  ProtoReader whole{.rest = bytes};
  while (whole.next()) {
    if (whole.field != 1 || whole.type != 2) continue;
    ProtoReader partial{.rest = whole.text};
    while (partial.next()) {
      if (partial.field == 1 && partial.type == 0) answer.rejected = partial.number;
      if (partial.field == 2 && partial.type == 2) answer.why = partial.text;
    }
  }
  if (answer.rejected > 1'000'000'000) return {};
  return answer;
}

// google.rpc.Status { repeated Any details = 3 }, Any { type_url = 1, value = 2 },
// RetryInfo { Duration retry_delay = 1 }, Duration { seconds = 1, nanos = 2 }
std::optional<std::chrono::nanoseconds> otlp_retry_delay(std::string_view base64) {
  const auto status = from_base64(base64);
  for (const auto detail : members(status, 3)) {
    const auto types = members(detail, 1), values = members(detail, 2);
    if (types.empty() || values.empty() || !types[0].ends_with("google.rpc.RetryInfo")) continue;
    std::uint64_t seconds = 0, nanos = 0;
    for (const auto duration : members(values[0], 1)) {
      ProtoReader reader{.rest = duration};
      while (reader.next()) {
        if (reader.field == 1 && reader.type == 0) seconds = reader.number;
        if (reader.field == 2 && reader.type == 0) nanos = reader.number;
      }
    }
    return std::chrono::seconds{
               static_cast<std::int64_t>(std::min<std::uint64_t>(seconds, 1'000'000))} +
           std::chrono::nanoseconds{
               static_cast<std::int64_t>(std::min<std::uint64_t>(nanos, 999'999'999))};
  }
  return std::nullopt;
}

}  // namespace clrscope::sinks
