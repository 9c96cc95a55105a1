// Counters and meters as a sequence of JSON, as dotnet-monitor tells them.
#include "http/answer.h"
#include "http/json_body.h"
#include "http/live_stream.h"
#include "http/services.h"
#include "ops/counters.h"
#include "ops/live/answers.h"

namespace clrscope::http {
namespace {

constexpr std::int64_t kDefaultSeconds = 30;

Result<> add(const JsonValue& body, std::string_view list, std::string_view name,
             std::string_view parts, std::vector<std::string>& words, std::string_view prefix) {
  const auto* all = find_member(body, list);
  if (all == nullptr || all->is_null()) return {};
  if (all->array() == nullptr) return fail(Errc::kUsage, "{} is no list", list);
  for (const auto& one : *all->array()) {
    const auto* provider = find_member(one, name);
    if (provider == nullptr || provider->text() == nullptr || provider->text()->empty())
      return fail(Errc::kUsage, "{}: {} is missing", list, name);
    if (provider->text()->find_first_of("[],") != std::string::npos)
      return fail(Errc::kUsage, "{}: {} is no name", list, *provider->text());
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
  StreamWish wish{.duration = TRY(stream_duration(call, kDefaultSeconds))};
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
  wish.feeds.push_back(live.counters_of(std::move(counters)));
  const auto who = TRY(chosen_live(call));
  wish.render = [lines = call.wants(kNdjson)](const ops::LiveItem& item) {
    std::string out;
    for (const auto& value : item.counters) {
      const auto json = ops::livemetric_json(value);
      out += lines ? json + "\n" : json_sequence(json);
    }
    return out;
  };
  serve_stream(std::move(call), who, std::move(wish));
  return {};
}

void livemetrics(Call call) {
  if (const auto done = serve(call); !done) call.send(done.error());
}

constexpr std::string_view kTypes = "application/json-seq application/x-ndjson";
constexpr Parameter kParameters[] = {
    {.name = "pid", .type = "integer", .help = "the process"},
    {.name = "uid", .type = "string", .help = "the process, by its runtime's id"},
    {.name = "name", .type = "string", .help = "the process, by its name"},
    {.name = "durationSeconds", .type = "integer", .help = "30 unless told; -1: no end"},
};

constexpr Route kRoutes[] = {
    {.method = "GET",
     .path = "/livemetrics",
     .scope = Scope::kRead,
     .summary = "Counters and meters as they come, as a JSON sequence",
     .types = kTypes,
     .parameters = kParameters,
     .serve = livemetrics,
     .live_types = kTypes,
     .statuses = "400 404 410 429"},
    {.method = "POST",
     .path = "/livemetrics",
     .scope = Scope::kRead,
     .summary = "The same, of providers and meters that the body names",
     .types = kTypes,
     .parameters = kParameters,
     .serve = livemetrics,
     .live_types = kTypes,
     .body =
         R"({"type":"object","properties":{"includeDefaultProviders":{"type":"boolean"},"providers":{"type":"array"},"meters":{"type":"array"}}})",
     .statuses = "400 404 410 429"},
};

}  // namespace

extern constexpr Routes livemetrics_routes{kRoutes};

}  // namespace clrscope::http
