// Counters and meters as a sequence of JSON, as dotnet-monitor tells them.
#include "http/json_body.h"
#include "http/live_stream.h"
#include "http/services.h"
#include "live/answers.h"
#include "ops/counters.h"
#include "site/answer.h"

namespace clrscope::http {
namespace {

constexpr std::int64_t kDefaultSeconds = 30;

Result<> add(const JsonValue& body, std::string_view list, std::string_view name,
             std::string_view parts, std::vector<std::string>& words, std::string_view prefix) {
  const auto* all = find_member(body, list);
  if (all == nullptr || all->is_null()) return {};
  if (all->array() == nullptr) return fail(Errc::kUsage, "{} must be an array", list);
  for (const auto& one : *all->array()) {
    const auto* provider = find_member(one, name);
    if (provider == nullptr || provider->text() == nullptr || provider->text()->empty())
      return fail(Errc::kUsage, "{}: {} is missing", list, name);
    if (provider->text()->find_first_of("[],") != std::string::npos)
      return fail(Errc::kUsage, "{}: {} is not a name", list, *provider->text());
    auto word = std::string{prefix} + *provider->text();
    std::string names;
    for (const auto& counter : TRY(texts_of(one, parts)))
      names += (names.empty() ? "" : ",") + counter;
    if (!names.empty()) word += "[" + names + "]";
    words.push_back(std::move(word));
  }
  return {};
}

Result<> serve(Call& call) {
  auto& live = call.services().live;
  StreamOptions options{.duration = TRY(stream_duration(call, kDefaultSeconds))};
  bool defaults = true;
  std::vector<std::string> words;
  if (call.request().method == "POST") {
    const auto body = TRY(read_body(call));
    defaults = TRY(truth_of(body, "includeDefaultProviders")).value_or(true);
    TRY(add(body, "providers", "providerName", "counterNames", words, "EventCounters\\"));
    TRY(add(body, "meters", "meterName", "instrumentNames", words, "Meter\\"));
    if (!defaults && words.empty())
      return fail(Errc::kUsage, "providers: without the default ones, some must be named");
  }
  auto counters = TRY(ops::parse_counters(words));
  if (defaults)
    for (auto& one : ops::default_counters()) counters.push_back(std::move(one));
  options.feeds.push_back(live.counters_of(std::move(counters)));
  const auto who = TRY(chosen_live(call));
  options.render = [lines = call.wants(kNdjson)](const live::LiveItem& item) {
    std::string out;
    for (const auto& value : item.counters) {
      const auto json = json_text(live::live_metric(value));
      out += lines ? json + "\n" : json_sequence(json);
    }
    return out;
  };
  serve_stream(std::move(call), who, std::move(options));
  return {};
}

void livemetrics(Call call) {
  if (const auto done = serve(call); !done) call.send(done.error());
}

// The JSON body as it is published. Read field by field: names are case-insensitive.
struct CounterProviderBody {
  std::string name{};
  std::optional<std::vector<std::string>> counters{};
};
const Shape& shape_of(const CounterProviderBody*) {
  using P = CounterProviderBody;
  static const auto shape =
      describe<P>("CounterProvider", "Counters of an EventSource",
                  {member<&P::name>("providerName", "name of the EventSource"),
                   member<&P::counters>("counterNames", "only these counters")});
  return shape;
}
struct MeterBody {
  std::string name{};
  std::optional<std::vector<std::string>> instruments{};
};
const Shape& shape_of(const MeterBody*) {
  using M = MeterBody;
  static const auto shape =
      describe<M>("MeterRequest", "Instruments of a meter",
                  {member<&M::name>("meterName", "name of the meter"),
                   member<&M::instruments>("instrumentNames", "only these instruments")});
  return shape;
}
struct MetricsBody {
  std::optional<bool> defaults{};
  std::optional<std::vector<CounterProviderBody>> providers{};
  std::optional<std::vector<MeterBody>> meters{};
};
const Shape& shape_of(const MetricsBody*) {
  using B = MetricsBody;
  static const auto shape = describe<B>(
      "LiveMetricsRequest", "Which counters and meters to send",
      {member<&B::defaults>("includeDefaultProviders", "the default ones too (default: true)"),
       member<&B::providers>("providers", "EventSources"), member<&B::meters>("meters", "meters")});
  return shape;
}

constexpr std::string_view kTypes = "application/json-seq application/x-ndjson";
constexpr Parameter kParameters[] = {
    {.name = "pid", .type = "integer", .help = "the process"},
    {.name = "uid", .type = "string", .help = "the process, by its runtime's id"},
    {.name = "name", .type = "string", .help = "the process, by its name"},
    {.name = "durationSeconds",
     .type = "integer",
     .help = "length of the stream; -1: no end (default: 30)"},
};

constexpr Route kRoutes[] = {
    {.method = "GET",
     .path = "/livemetrics",
     .scope = Scope::kRead,
     .summary = "Values of counters and meters as they arrive, as a JSON sequence",
     .types = kTypes,
     .parameters = kParameters,
     .serve = livemetrics,
     .line = value_shape<live::LiveMetric>,
     .live_types = kTypes,
     .statuses = "400 404 410 429"},
    {.method = "POST",
     .path = "/livemetrics",
     .scope = Scope::kRead,
     .summary = "The same, with the providers and meters of the body",
     .types = kTypes,
     .parameters = kParameters,
     .serve = livemetrics,
     .line = value_shape<live::LiveMetric>,
     .body = value_shape<MetricsBody>,
     .live_types = kTypes,
     .statuses = "400 404 410 429"},
};

}  // namespace

extern constexpr Routes livemetrics_routes{kRoutes};

}  // namespace clrscope::http
