#include "ops/counters.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/json.h"
#include "base/text.h"
#include "hub/hub.h"
#include "nettrace/event_json.h"
#include "nettrace/payload_text.h"
#include "ops/counter_sources.h"

namespace clrscope::ops {
namespace {

constexpr std::string_view kEventCounter = "EventCounter";

class CountersSink final : public hub::Sink {
 public:
  explicit CountersSink(const CountersWatcher& watcher) : watcher_(watcher) {}
  Result<> on_counters(std::span<const hub::CounterValue> values) override {
    if (watcher_.on_values) watcher_.on_values(values);
    return {};
  }
  Result<> on_source(const hub::SourceInfo& source, hub::SourceChange change) override {
    if (change == hub::SourceChange::kGone && watcher_.on_gone) watcher_.on_gone(source);
    return {};
  }
  Result<> on_notice(const std::string& text) override {
    if (watcher_.on_trouble) watcher_.on_trouble(text);
    return {};
  }
  Result<> on_tick() override {
    if (watcher_.on_tick) watcher_.on_tick();
    return {};
  }

 private:
  const CountersWatcher& watcher_;
};

// Gathers what is published: by name, so that each is there once.
class PublishedSink final : public hub::Sink {
 public:
  using All = std::map<std::pair<std::string, std::string>, PublishedCounter>;
  explicit PublishedSink(All& all) : all_(all) {}

  Result<> on_batch(const hub::Batch& batch) override {
    const auto& block = *batch.block;
    auto& plans = plans_.try_emplace(block.reader(), block.pointer_size()).first->second;
    for (const auto row : batch.rows) {
      const auto& event = block.events()[row];
      if (event.type->name != "InstrumentPublished" &&
          event.type->name != "BeginInstrumentReporting")
        continue;
      const auto& plan = plans.of(event);
      const auto text = [&](std::string_view name) -> std::string {
        const auto index = plan.find(name);
        const auto value = index ? nettrace::read_field(plan, *index, event.payload) : std::nullopt;
        return value ? nettrace::text_of(*value) : "";
      };
      PublishedCounter one{.provider = text("meterName"),
                           .name = text("instrumentName"),
                           .kind = text("instrumentType"),
                           .unit = text("unit"),
                           .description = text("description")};
      one.kind = one.kind.substr(0, one.kind.find('`'));
      all_.try_emplace({one.provider, one.name}, std::move(one));
    }
    return {};
  }
  Result<> on_counters(std::span<const hub::CounterValue> values) override {
    for (const auto& value : values)
      if (!value.meter)
        all_.try_emplace({value.provider, value.name},
                         PublishedCounter{.provider = value.provider,
                                          .name = value.name,
                                          .kind = std::string{kEventCounter},
                                          .unit = value.unit,
                                          .description = value.display});
    return {};
  }

 private:
  All& all_;
  std::map<std::uint64_t, nettrace::PayloadPlans> plans_;  // by reader
};

std::string csv_field(const std::string& text) {
  if (text.find_first_of(",\"\n") == std::string_view::npos) return text;
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"') out += '"';
    out += c;
  }
  return out + "\"";
}

std::string_view type_of(const hub::CounterValue& value) {
  return value.kind == hub::CounterKind::kRate ? "Rate" : "Metric";
}

// One row, or one for each quantile.
template <class Row>
void for_each_row(const hub::CounterValue& value, Row&& row) {
  if (value.kind != hub::CounterKind::kHistogram) return row(hub::shown_value(value), "");
  for (const auto& [share, one] : hub::shown_quantiles(value))
    row(one, fmt::format("Percentile={:g}", share * 100));
}

// A row of the JSON file, named as dotnet-counters names it.
struct CounterRow {
  std::string timestamp{};
  std::string provider{};
  std::string name{};
  std::string tags{};
  std::string_view counter_type{};
  double value = 0;
  std::optional<std::string> process{};
  std::optional<pid_t> pid{};
};
const Shape& shape_of(const CounterRow*) {
  using A = CounterRow;
  static const auto shape = clrscope::describe<A>(
      "CounterRow", "a value in a file of counters collect",
      {member<&A::timestamp>("timestamp", "when it was published, to the second"),
       member<&A::provider>("provider", "EventSource or meter"),
       member<&A::name>("name", "name and unit"), member<&A::tags>("tags", "key=value,key=value"),
       member<&A::counter_type>("counterType", "Rate or Metric"),
       member<&A::value>("value", "the value"),
       member<&A::process>("process", "name of the process"),
       member<&A::pid>("pid", "process id")});
  return shape;
}

std::string joined(const std::string& tags, const std::string& more) {
  return tags.empty() || more.empty() ? tags + more : tags + "," + more;
}

}  // namespace

Result<std::vector<hub::CounterRequest>> parse_counters(const std::vector<std::string>& words) {
  using Kind = hub::CounterRequest::Kind;
  std::vector<hub::CounterRequest> requests;
  for (const std::string_view word : words) {
    std::size_t at = 0;
    while (at < word.size()) {
      auto end = word.find_first_of("[,", at);
      hub::CounterRequest request{.provider = std::string{trim(word.substr(at, end - at))}};
      if (end != std::string_view::npos && word[end] == '[') {
        const auto close = word.find(']', end);
        if (close == std::string_view::npos)
          return fail(Errc::kUsage, "--counters: '{}' has no closing ]", word)
              .hint("Provider[first,second],Other");
        for (const auto name : split(word.substr(end + 1, close - end - 1), ','))
          if (!trim(name).empty()) request.names.emplace_back(trim(name));
        end = word.find(',', close);
      }
      constexpr std::string_view kEventCounters = "EventCounters\\", kMeter = "Meter\\";
      if (request.provider.starts_with(kEventCounters)) {
        request.kind = Kind::kEventCounters;
        request.provider.erase(0, kEventCounters.size());
      } else if (request.provider.starts_with(kMeter)) {
        request.kind = Kind::kMeter;
        request.provider.erase(0, kMeter.size());
      }
      if (request.provider.empty())
        return fail(Errc::kUsage, "--counters: '{}' has no provider name", word)
            .hint(
                "write Provider[first,second],Other; clrscope counters list -p PID lists the "
                "counters");
      requests.push_back(std::move(request));
      at = end == std::string_view::npos ? word.size() : end + 1;
    }
  }
  return requests;
}

std::vector<hub::CounterRequest> default_counters() { return {{.provider = "*"}}; }

Result<CountersSummary> watch_counters(const CountersRequest& request,
                                       const CountersWatcher& watcher) {
  hub::Hub hub;
  const auto listener = TRY(hub.add(
      {.counters = request.counters, .interval = request.interval, .limits = request.limits},
      std::make_unique<CountersSink>(watcher)));
  const auto watch = TRY(
      Watch::start(hub, request.targets, request.stop_fds.empty() ? -1 : request.stop_fds.front()));
  const auto attached = watch->attached();
  if (watcher.on_start) watcher.on_start(attached);
  const auto stopped_by =
      watch_until_end(*watch, request.stop_fds, request.duration, watcher.on_trouble);
  const auto summary = hub.remove(listener);
  return CountersSummary{.values = summary.counters,
                         .lost = summary.lost + summary.dropped,
                         .processes = std::max(attached, watch->attached()),
                         .stopped_by = stopped_by};
}

const Shape& counter_shape() { return shape_of(static_cast<const hub::CounterLine*>(nullptr)); }

const Shape& shape_of(const PublishedCounter*) {
  using A = PublishedCounter;
  static const auto shape = clrscope::describe<A>(
      "PublishedCounter", "a counter that a process publishes",
      {member<&A::provider>("provider", "EventSource or meter"),
       member<&A::name>("name", "name of the counter"),
       member<&A::kind>("kind",
                        "EventCounter, or the type of the instrument: Counter, Histogram …"),
       member<&A::unit>("unit", "unit; empty if none"),
       member<&A::description>("description", "description given by the program")});
  return shape;
}

Result<PublishedCounters> list_counters(const TargetRequest& target,
                                        const std::vector<hub::CounterRequest>& wanted) {
  const auto requests = wanted.empty() ? default_counters() : wanted;
  PublishedSink::All all;
  hub::Hub hub;
  hub::SessionRequest request{.providers = {published_instruments()}};
  for (auto one : requests) {
    if (one.kind == hub::CounterRequest::Kind::kMeter || one.provider == kDerivedProvider) continue;
    one.kind = hub::CounterRequest::Kind::kEventCounters;
    request.counters.push_back(std::move(one));
  }
  const auto listener = TRY(hub.add(std::move(request), std::make_unique<PublishedSink>(all)));
  WatchRequest targets{.target = target};
  if (target.pid) targets.pids = {*target.pid};
  if (target.name)
    targets.pids = {TRY(find_target(target, std::chrono::seconds{2}, -1)).process.pid};
  const auto watch = TRY(Watch::start(hub, targets, -1));
  watch_until_end(*watch, {}, std::chrono::milliseconds{2200});
  PublishedCounters published{.notes = hub.remove(listener).notices};
  for (auto& [key, one] : all)
    if (hub::wanted(
            requests,
            {.provider = one.provider, .name = one.name, .meter = one.kind != kEventCounter}))
      published.counters.push_back(std::move(one));
  return published;
}

std::string counter_title(const hub::CounterValue& value) {
  const auto& name = value.display.empty() ? value.name : value.display;
  if (value.kind == hub::CounterKind::kRate)
    return fmt::format("{} ({} / 1 sec)", name, value.unit.empty() ? "Count" : value.unit);
  return value.unit.empty() ? name : fmt::format("{} ({})", name, value.unit);
}

CountersFile::CountersFile(Format format, const WatchRequest& targets, WallTime start)
    : format_(format),
      process_(fmt::format("{}", fmt::join(targets.pids, ","))),
      several_(targets.pids.size() > 1 || targets.comes_and_goes()),
      start_(start) {
  for (const auto& name : targets.names) process_ += (process_.empty() ? "" : ",") + name;
}

std::string CountersFile::begin() const {
  if (format_ == Format::kCsv)
    return fmt::format("Timestamp,Provider,Counter Name,Counter Type,Mean/Increment{}\n",
                       several_ ? ",Process,Process Id" : "");
  std::string out = "{\n  \"TargetProcess\": ";
  append_json_string(out, process_);
  out += ",\n  \"StartTime\": ";
  append_json_string(out, iso8601(start_));
  return out + ",\n  \"Events\": [\n";
}

std::string CountersFile::rows(std::span<const hub::CounterValue> values) {
  std::string out;
  for (const auto& value : values)
    for_each_row(value, [&](double number, const std::string& more) {
      const auto tags = joined(value.tags_text(), more);
      const auto title = counter_title(value);
      const auto second = std::chrono::floor<std::chrono::seconds>(value.time);
      const std::chrono::sys_time<std::chrono::seconds> time{second};
      const auto calendar = fmt::gmtime(std::chrono::system_clock::to_time_t(time));
      if (format_ == Format::kCsv) {
        fmt::format_to(std::back_inserter(out), "{:%m/%d/%Y %H:%M:%S},{},{},{},{}", calendar,
                       csv_field(value.provider),
                       csv_field(tags.empty() ? title : fmt::format("{}[{}]", title, tags)),
                       type_of(value), number);
        if (several_) out += fmt::format(",{},{}", csv_field(value.process), value.pid);
        out += '\n';
        return;
      }
      CounterRow row{.timestamp = fmt::format("{:%Y-%m-%d %H:%M:%S}Z", calendar),
                     .provider = value.provider,
                     .name = title,
                     .tags = tags,
                     .counter_type = type_of(value),
                     .value = number};
      if (several_) row.process = value.process, row.pid = value.pid;
      JsonWriter json;
      write_json(json, row);
      out += first_ ? "    " : ",\n    ";
      first_ = false;
      out += json.text();
    });
  return out;
}

std::string CountersFile::end() const { return format_ == Format::kCsv ? "" : "\n  ]\n}\n"; }

}  // namespace clrscope::ops
