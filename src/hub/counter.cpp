#include "hub/counter.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <utility>

#include "base/text.h"
#include "model/provider_names.h"

namespace clrscope::hub {
namespace {

using nettrace::PayloadField;
using nettrace::PayloadPlan;
using nettrace::Value;

struct FieldValue {
  std::string text{};
  std::optional<double> number{};
};
using FieldMap = std::map<std::string, FieldValue, std::less<>>;

std::optional<double> as_number(std::string_view text) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (text.empty() || error != std::errc{} || end != text.data() + text.size()) return {};
  return number;
}

FieldValue field_value(const Value& value) {
  switch (value.kind) {
    case Value::Kind::kInt:
      return {.number = static_cast<double>(value.i)};
    case Value::Kind::kUInt:
    case Value::Kind::kBool:
      return {.number = static_cast<double>(value.u)};
    case Value::Kind::kFloat:
    case Value::Kind::kDouble:
      return {.number = value.f};
    case Value::Kind::kTime:
      return {.number = static_cast<double>(value.i) * 1e-7};  // seconds, for differences
    default: {
      auto text = nettrace::text_of(value);
      const auto number = as_number(text);
      return {.text = std::move(text), .number = number};
    }
  }
}

// All scalars, also those inside of objects: EventCounters wraps its payload in two.
void gather(const PayloadPlan& plan, const PayloadField& field, const Value& value,
            FieldMap& fields, int depth = 0) {
  if (value.kind == Value::Kind::kObject) {
    if (depth < 4)
      nettrace::for_each_member(plan, field, value, [&](const auto& member, const auto& inner) {
        gather(plan, member, inner, fields, depth + 1);
      });
  } else if (value.kind != Value::Kind::kArray && value.kind != Value::Kind::kBytes) {
    fields.emplace(std::string{field.name}, field_value(value));
  }
}

FieldMap fields_of(const Event& event, const PayloadPlan& plan) {
  FieldMap fields;
  nettrace::for_each_field(plan, event.payload, [&](const auto& field, const auto& value) {
    gather(plan, field, value, fields);
  });
  return fields;
}

std::string text_in(const FieldMap& fields, std::string_view name) {
  const auto at = fields.find(name);
  return at == fields.end() ? std::string{} : at->second.text;
}
std::optional<double> number_in(const FieldMap& fields, std::string_view name) {
  const auto at = fields.find(name);
  return at == fields.end() ? std::nullopt : at->second.number;
}

std::chrono::nanoseconds seconds(double count) {
  return std::chrono::nanoseconds{static_cast<std::int64_t>(count * 1e9)};
}

// Of a collection: what it is about, as it says itself.
std::optional<std::chrono::nanoseconds> told_interval(const FieldMap& fields) {
  const auto begin = number_in(fields, "intervalStartTime");
  const auto end = number_in(fields, "intervalEndTime");
  if (!begin || !end || *end <= *begin || *end - *begin > 86'400) return {};
  return seconds(*end - *begin);
}

// "0.5=62;0.95=73;0.99=74"
std::vector<std::pair<double, double>> parse_quantiles(std::string_view text) {
  std::vector<std::pair<double, double>> quantiles;
  for (const auto part : split(text, ';')) {
    const auto equal = part.find('=');
    if (equal == std::string_view::npos) continue;
    const auto share = as_number(part.substr(0, equal));
    const auto value = as_number(part.substr(equal + 1));
    if (share && value) quantiles.emplace_back(*share, *value);
  }
  return quantiles;
}

std::string identity(const CounterValue& value) {
  return fmt::format("{}\n{}\n{}\n{}", value.pid, value.provider, value.name, value.tags_text());
}

// .NET 9 and 10 declare these as counters. They go down too: the conventions have them right.
bool is_level(const CounterValue& value) {
  return value.provider == kSystemRuntimeProvider &&
         (value.name == "dotnet.thread_pool.thread.count" ||
          value.name == "dotnet.thread_pool.queue.length");
}

bool same_bounds(const std::vector<Bucket>& a, const std::vector<Bucket>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const auto& x, const auto& y) { return x.upper == y.upper; });
}

void merge(CounterValue& into, CounterValue&& next) {
  into.time = next.time;
  into.interval += next.interval;
  switch (into.kind) {
    case CounterKind::kRate:
      into.value += next.value;
      into.total = next.total;
      return;
    case CounterKind::kGauge:
    case CounterKind::kUpDown:
      into.value = next.value;
      return;
    case CounterKind::kMean: {
      // A PollingCounter is sent as the mean of the one value that was read; the event does
      // not say so otherwise. What it is now counts, not half of what it was.
      const bool polled = into.count == 1 && next.count == 1;
      const auto count = into.count + next.count;
      if (polled)
        into.value = next.value;
      else if (count != 0)
        into.value = (into.value * static_cast<double>(into.count) +
                      next.value * static_cast<double>(next.count)) /
                     static_cast<double>(count);
      if (next.count != 0) {
        if (next.min)
          into.min = into.count != 0 && into.min ? std::min(*into.min, *next.min) : next.min;
        if (next.max)
          into.max = into.count != 0 && into.max ? std::max(*into.max, *next.max) : next.max;
      }
      into.count = polled ? 1 : count;
      return;
    }
    case CounterKind::kHistogram:
      if (next.count > into.count) {
        into.quantiles = std::move(next.quantiles);
        into.value = next.value;
      }
      into.count += next.count;
      if (same_bounds(into.buckets, next.buckets)) {
        for (std::size_t i = 0; i < into.buckets.size(); ++i)
          into.buckets[i].count += next.buckets[i].count;
        if (!into.buckets.empty()) into.value = quantile_of(into.buckets, 0.5).value_or(0);
      }
      if (next.sum) into.sum = into.sum.value_or(0) + *next.sum;
      return;
  }
}

}  // namespace

std::span<const std::string_view> names_of(CounterKind) {
  static constexpr std::string_view kNames[] = {"rate", "gauge", "updown", "mean", "histogram"};
  return kNames;
}

std::string_view name_of(CounterKind kind) {
  return names_of(kind)[static_cast<std::size_t>(kind)];
}

std::string CounterValue::tags_text() const {
  std::string text;
  for (const auto& [key, one] : tags) {
    if (!text.empty()) text += ',';
    text += key;
    text += '=';
    text += one;
  }
  return text;
}

std::vector<std::pair<std::string, std::string>> parse_tags(std::string_view text) {
  std::vector<std::pair<std::string, std::string>> tags;
  if (text.empty()) return tags;
  for (const auto part : split(text, ',')) {
    const auto equal = part.find('=');
    if (equal == std::string_view::npos && !tags.empty())
      tags.back().second.append(",").append(part);  // a value with a comma in it
    else
      tags.emplace_back(part.substr(0, equal),
                        equal == std::string_view::npos ? "" : part.substr(equal + 1));
  }
  return tags;
}

std::optional<CounterValue> CounterDecoder::event_counter(const Event& event,
                                                          const PayloadPlan& plan) {
  const auto fields = fields_of(event, plan);
  CounterValue value{.provider = event.type->provider,
                     .name = text_in(fields, "Name"),
                     .display = text_in(fields, "DisplayName"),
                     .unit = text_in(fields, "DisplayUnits"),
                     .tags = parse_tags(text_in(fields, "Metadata"))};
  for (auto& [key, one] : value.tags)  // "team:samples"
    if (const auto colon = key.find(':'); one.empty() && colon != std::string::npos) {
      one = key.substr(colon + 1);
      key.resize(colon);
    }
  value.interval = seconds(number_in(fields, "IntervalSec").value_or(0));
  if (value.name.empty()) return {};
  if (const auto increment = number_in(fields, "Increment")) {
    value.kind = CounterKind::kRate;
    value.value = *increment;
    return value;
  }
  const auto mean = number_in(fields, "Mean");
  if (!mean) return {};
  value.kind = CounterKind::kMean;
  value.value = *mean;
  value.count = static_cast<std::uint64_t>(number_in(fields, "Count").value_or(0));
  value.min = number_in(fields, "Min");
  value.max = number_in(fields, "Max");
  return value;
}

std::optional<CounterValue> CounterDecoder::instrument(const Event& event,
                                                       const PayloadPlan& plan) {
  const auto& type = event.type->name;
  const bool is_value = type.ends_with("ValuePublished");
  if (!is_value) return {};
  const auto fields = fields_of(event, plan);
  CounterValue value{.provider = text_in(fields, "meterName"),
                     .name = text_in(fields, "instrumentName"),
                     .unit = text_in(fields, "unit"),
                     .tags = parse_tags(text_in(fields, "tags")),
                     .meter = true,
                     .interval = interval_};
  value.display = value.name;
  if (value.name.empty()) return {};
  if (type == "GaugeValuePublished") {
    const auto last = number_in(fields, "lastValue");
    if (!last) return {};
    value.kind = CounterKind::kGauge;
    value.value = *last;
  } else if (type == "CounterRateValuePublished") {
    value.kind = CounterKind::kRate;
    value.total = number_in(fields, "value");
    if (value.total && is_level(value)) {
      value.kind = CounterKind::kUpDown;
      value.value = *std::exchange(value.total, std::nullopt);
      return value;
    }
    const auto rate = number_in(fields, "rate");
    if (!rate) return {};  // the first of an observable one: nothing to compare with yet
    value.value = *rate;
  } else if (type == "UpDownCounterRateValuePublished") {
    const auto now = number_in(fields, "value");
    if (!now) return {};
    value.kind = CounterKind::kUpDown;
    value.value = *now;
  } else if (type == "HistogramValuePublished") {
    value.kind = CounterKind::kHistogram;
    value.quantiles = parse_quantiles(text_in(fields, "quantiles"));
    value.count = static_cast<std::uint64_t>(number_in(fields, "count").value_or(0));
    value.sum = number_in(fields, "sum");
    if (value.quantiles.empty()) return {};
    value.value = value.quantiles.front().second;
  } else {
    return {};
  }
  return value;
}

std::optional<CounterValue> CounterDecoder::decode(const Event& event, const PayloadPlan& plan) {
  if (event.type->provider == kMetricsProvider) {
    // Another session's interval may be in force: what the events themselves say counts.
    if (event.type->name == "CollectionStart" || event.type->name == "Collection/Start") {
      if (collected_ == TraceTime{})
        interval_ = told_interval(fields_of(event, plan)).value_or(interval_);
      else if (event.time > collected_)
        interval_ = event.time - collected_;
      collected_ = event.time;
    }
    return instrument(event, plan);
  }
  if (event.type->name == kEventCountersName) return event_counter(event, plan);
  return {};
}

bool may_be_meters_trouble(const EventType& type) {
  return type.provider == kMetricsProvider &&
         (type.name.ends_with("Error") || type.name.ends_with("LimitReached"));
}

std::optional<std::string> meters_trouble(const Event& event, const PayloadPlan& plan,
                                          const MeterLimits& limits) {
  const auto& type = event.type->name;
  const auto fields = fields_of(event, plan);
  if (type == "TimeSeriesLimitReached")
    return fmt::format(
        "its runtime reached the limit of {} time series: later ones are missing; select fewer "
        "meters or instruments, or raise --max-time-series",
        format_count(limits.series));
  if (type == "HistogramLimitReached")
    return fmt::format(
        "its runtime reached the limit of {} histograms (each set of tags counts): later ones are "
        "missing; select fewer meters or instruments, or raise --max-histograms",
        format_count(limits.histograms));
  if (type == "MultipleSessionsNotSupportedError")
    return fmt::format(
        "another tool has exclusive use of its meters (session '{}'): until it ends, only the "
        "meters that tool selected are available",
        text_in(fields, "runningSessionId"));
  if (type == "MultipleSessionsConfiguredIncorrectlyError") {
    const auto interval = fields.find("expectedRefreshInterval");
    return fmt::format(
        "another tool enabled its meters first: that tool's limits and interval apply{}",
        interval == fields.end() || !interval->second.number
            ? ""
            : fmt::format(", {} s", *interval->second.number));
  }
  if (type == "ObservableInstrumentCallbackError" || type == "Error") {
    const auto message = text_in(fields, "errorMessage");
    return fmt::format("its meters report: {}", message.substr(0, message.find_first_of("\r\n")));
  }
  return {};
}

std::optional<double> quantile_of(const std::vector<Bucket>& buckets, double share) {
  std::uint64_t all = 0;
  for (const auto& one : buckets) all += one.count;
  if (all == 0) return {};
  const auto wanted = share * static_cast<double>(all);
  double below = 0;
  double lower = 0;
  for (const auto& one : buckets) {
    const auto count = static_cast<double>(one.count);
    if (one.count > 0 && below + count >= wanted) {
      if (!std::isfinite(one.upper)) return lower;  // above all bounds: at least the last of them
      const auto from = std::min(lower, one.upper);
      return from + (one.upper - from) * (wanted - below) / count;
    }
    below += count;
    lower = one.upper;
  }
  return lower;
}

std::vector<std::pair<double, double>> shown_quantiles(const CounterValue& value) {
  auto quantiles = value.quantiles;
  if (!quantiles.empty()) return quantiles;
  for (const double share : {0.5, 0.95, 0.99})
    if (const auto one = quantile_of(value.buckets, share)) quantiles.emplace_back(share, *one);
  return quantiles;
}

bool wanted(const std::vector<CounterRequest>& requests, const CounterValue& value) {
  for (const auto& request : requests) {
    if (request.provider != value.provider &&
        !(request.is_pattern() && glob_match(request.provider, value.provider)))
      continue;
    if (request.kind == CounterRequest::Kind::kEventCounters && value.meter) continue;
    if (request.kind == CounterRequest::Kind::kMeter && !value.meter) continue;
    if (request.names.empty() ||
        std::find(request.names.begin(), request.names.end(), value.name) != request.names.end())
      return true;
  }
  return false;
}

std::vector<CounterValue> CounterAggregate::add(CounterValue value) {
  // A little less than the interval: values of one second come every 0.99 or 1.01.
  const auto complete = [&](const CounterValue& one) { return one.interval * 10 >= interval_ * 9; };
  if (complete(value)) return {std::move(value)};
  std::vector<CounterValue> done;
  auto key = identity(value);
  auto [at, is_new] = open_.try_emplace(std::move(key));
  // It was silent for longer than an interval: what there was is not to be counted to now.
  if (!is_new && value.time - at->second.time > interval_ + value.interval) {
    done.push_back(std::move(at->second));
    is_new = true;
  }
  if (is_new) {
    at->second = std::move(value);
    return done;
  }
  merge(at->second, std::move(value));
  if (!complete(at->second)) return done;
  done.push_back(std::move(at->second));
  open_.erase(at);
  return done;
}

double shown_value(const CounterValue& value) {
  const auto seconds = std::chrono::duration<double>(value.interval).count();
  if (value.kind != CounterKind::kRate || seconds <= 0) return value.value;
  return value.value / seconds;
}

}  // namespace clrscope::hub
