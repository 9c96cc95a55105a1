#include "http/trace_request.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/json_reader.h"
#include "base/text.h"
#include "site/answer.h"

namespace clrscope::http {
namespace {

constexpr std::int64_t kMostSeconds = 0x7fffffff;
constexpr std::size_t kMostProviders = 256;
constexpr std::uint64_t kAllKeywords = ~std::uint64_t{0};

std::string lower(std::string_view text) {
  std::string out{text};
  for (auto& c : out) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return out;
}

Failure wrong(std::string_view field, std::string_view what) {
  return fail(Errc::kUsage, "{}: {}", field, what);
}

Result<std::string> text_of(const std::string& field, const JsonValue& value) {
  const auto* text = value.text();
  if (!text) return wrong(field, "not a string");
  return *text;
}

Result<std::int64_t> number_of(const std::string& field, const JsonValue& value, std::int64_t least,
                               std::int64_t most) {
  const auto number = value.integer();
  if (!number || *number < least || *number > most)
    return wrong(field, fmt::format("not a whole number from {} to {}", least, most));
  return *number;
}

Result<bool> truth_of(const std::string& field, const JsonValue& value) {
  const auto truth = value.boolean();
  if (!truth) return wrong(field, "neither true nor false");
  return *truth;
}

// "key=value;key2=value2" from an object of strings, or as it is.
Result<std::string> arguments_of(const std::string& field, const JsonValue& value) {
  if (const auto* text = value.text()) return *text;
  const auto* members = value.object();
  if (!members) return wrong(field, "neither an object of strings nor a string");
  std::string out;
  for (const auto& member : *members) {
    const auto* text = member.value.text();
    const auto name = field + "." + member.name;
    if (!text) return wrong(name, "not a string");
    if (member.name.empty() || member.name.find_first_of("=;\"") != std::string::npos)
      return wrong(name, "no name of an argument");
    if (text->find('"') != std::string::npos) return wrong(name, "holds a quotation mark");
    out += fmt::format("{}{}=\"{}\"", out.empty() ? "" : ";", member.name, *text);
  }
  return out;
}

Result<std::uint64_t> keywords_of(const std::string& field, const JsonValue& value) {
  if (const auto number = value.integer(); number && *number >= 0)
    return static_cast<std::uint64_t>(*number);
  const auto* text = value.text();
  const auto number = text ? parse_number(*text) : std::nullopt;
  if (!number) return wrong(field, "no number such as \"0x1\"");
  return *number;
}

Result<ops::Level> level_of(const std::string& field, const JsonValue& value) {
  const auto number = value.integer();
  const auto* text = value.text();
  if (!text && !number) return wrong(field, "no level such as \"Verbose\"");
  const auto word = text ? *text : std::to_string(*number);
  const auto level = ops::parse_level(word);
  if (!level) return wrong(field, level.error().what);
  return *level;
}

Result<std::vector<std::uint32_t>> event_ids_of(const std::string& field, const JsonValue& value) {
  const auto* all = value.array();
  if (!all || all->empty()) return wrong(field, "must be an array of event ids such as [1, 5]");
  if (all->size() > ops::kMostEventIds)
    return wrong(field, fmt::format("must not have more than {} event ids", ops::kMostEventIds));
  std::set<std::uint32_t> ids;
  for (std::size_t i = 0; i < all->size(); ++i)
    ids.insert(static_cast<std::uint32_t>(
        TRY(number_of(fmt::format("{}[{}]", field, i), (*all)[i], 0, ops::kLargestEventId))));
  return std::vector<std::uint32_t>{ids.begin(), ids.end()};
}

Result<ops::Provider> provider_of(const std::string& field, const JsonValue& value) {
  const auto* members = value.object();
  if (!members) return wrong(field, "not an object");
  ops::Provider provider{.name = {}, .keywords = kAllKeywords};
  std::set<std::string> seen;
  for (const auto& member : *members) {
    const auto name = field + "." + member.name;
    const auto word = lower(member.name);
    if (!seen.insert(word).second) return wrong(name, "is given twice");
    if (word == "name")
      provider.name = TRY(text_of(name, member.value));
    else if (member.value.is_null() && (word == "keywords" || word == "eventlevel" ||
                                        word == "arguments" || word == "eventids"))
      continue;
    else if (word == "keywords")
      provider.keywords = TRY(keywords_of(name, member.value));
    else if (word == "eventlevel" || word == "level")
      provider.level = TRY(level_of(name, member.value));
    else if (word == "arguments")
      provider.arguments = TRY(arguments_of(name, member.value));
    else if (word == "eventids")
      provider.event_ids = TRY(event_ids_of(name, member.value));
    else
      return wrong(name, "is not a field of a provider");
  }
  if (trim(provider.name).empty()) return wrong(field + ".name", "is missing");
  if (provider.name.find('\0') != std::string::npos) return wrong(field + ".name", "no name");
  return provider;
}

Result<std::vector<ops::Provider>> providers_of(const std::string& field, const JsonValue& value) {
  const auto* all = value.array();
  if (!all) return wrong(field, "not an array");
  if (all->empty()) return wrong(field, "is empty");
  if (all->size() > kMostProviders)
    return wrong(field, fmt::format("has more than {} providers", kMostProviders));
  std::vector<ops::Provider> providers;
  for (std::size_t i = 0; i < all->size(); ++i)
    providers.push_back(TRY(provider_of(fmt::format("{}[{}]", field, i), (*all)[i])));
  return providers;
}

Result<ops::Sampler> sampler_of(std::string_view word) {
  auto sampler = ops::parse_sampler(word);
  if (!sampler) return wrong("sampler", "must be best, perf, agent or runtime");
  return sampler;
}

Result<> take_field(TraceRequest& options, const std::string& name, const JsonValue& value) {
  const auto word = lower(name);
  if (word == "pid")
    options.selector.pid = static_cast<pid_t>(TRY(number_of(name, value, 1, kMostSeconds)));
  else if (word == "uid")
    options.selector.uid = TRY(text_of(name, value));
  else if (word == "name")
    options.selector.name = TRY(text_of(name, value));
  else if (word == "profile")
    options.profile = TRY(text_of(name, value));
  else if (word == "providers")
    options.providers = TRY(providers_of(name, value));
  else if (word == "buffersizemb" || word == "buffersizeinmb")
    options.buffer_mb = static_cast<std::uint32_t>(TRY(number_of(name, value, 1, 1024)));
  else if (word == "durationseconds")
    options.duration_seconds = TRY(number_of(name, value, -1, kMostSeconds));
  else if (word == "leaseseconds")
    options.lease_seconds = TRY(number_of(name, value, 1, kMostSeconds));
  else if (word == "requestrundown")
    options.rundown = TRY(truth_of(name, value));
  else if (word == "rate")
    options.rate = static_cast<unsigned>(TRY(number_of(name, value, 1, 20000)));
  else if (word == "sampler")
    options.sampler = TRY(sampler_of(value.text() ? *value.text() : ""));
  else if (word == "all")
    options.whole_machine = TRY(truth_of(name, value));
  else if (word == "tags")
    options.tags = TRY(text_of(name, value));
  else
    return fail(Errc::kUsage, "{}: unknown field", name)
        .hint(
            "pid, uid, name, profile, providers, bufferSizeMB, durationSeconds, leaseSeconds, "
            "requestRundown, rate, sampler, all, tags");
  return {};
}

// What dotnet-monitor calls a profile, in words of ours.
struct Translated {
  std::string_view name;
  std::string_view profiles;
  std::string_view providers;
};

// Requests that come in and that go out, with what tells them apart.
constexpr std::string_view kHttp =
    "System.Threading.Tasks.TplEventSource:0x80:4,"
    "Microsoft-Diagnostics-DiagnosticSource:0x3:5:FilterAndPayloadSpecs=\""
    "Microsoft.AspNetCore/Microsoft.AspNetCore.Hosting.HttpRequestIn.Start@Activity1Start:"
    "-Request.Method;Request.Path;Request.QueryString\r\n"
    "Microsoft.AspNetCore/Microsoft.AspNetCore.Hosting.HttpRequestIn.Stop@Activity1Stop:"
    "-Response.StatusCode\r\n"
    "HttpHandlerDiagnosticListener/System.Net.Http.HttpRequestOut.Start@Activity2Start:"
    "-Request.Method;Request.RequestUri\r\n"
    "HttpHandlerDiagnosticListener/System.Net.Http.HttpRequestOut.Stop@Activity2Stop:"
    "-Response.StatusCode\"";

constexpr Translated kTranslated[] = {
    {"cpu", "dotnet-common,dotnet-sampled-thread-time", ""},
    {"http", "", kHttp},
    {"logs", "", "Microsoft-Extensions-Logging:0xC:5"},
    {"gccollect", "gc-collect", ""},
    {"gcdump", "", "Microsoft-Windows-DotNETRuntime:0x1980001:5"},
};

std::string metrics_providers(std::int64_t seconds) {
  std::string out;
  for (const auto name :
       {"System.Runtime", "Microsoft.AspNetCore.Hosting", "Grpc.AspNetCore.Server"})
    out += fmt::format("{}{}:0xFFFFFFFF:4:EventCounterIntervalSec={}", out.empty() ? "" : ",", name,
                       seconds);
  return out;
}

constexpr Parameter kParameters[] = {
    {.name = "pid", .type = "integer", .help = "the process"},
    {.name = "uid", .type = "string", .help = "or its runtime's GUID"},
    {.name = "name", .type = "string", .help = "or its name"},
    {.name = "all", .type = "boolean", .help = "every process of the machine"},
    {.name = "profile",
     .type = "string",
     .help = "dotnet-common, cpu-sampling, thread-time, gc-verbose, gc-collect, database; also "
             "cpu, http, metrics, logs"},
    {.name = "durationSeconds",
     .type = "integer",
     .help = "length of the recording; -1: until it is stopped (default: 30)"},
    {.name = "metricsIntervalSeconds",
     .type = "integer",
     .help = "interval of the profile metrics (default: 1)"},
    {.name = "rate", .type = "integer", .help = "CPU samples per second (default: 499)"},
    {.name = "sampler",
     .type = "string",
     .help = "source of CPU samples: best, perf, agent or runtime (default: best; the agent is "
             "loaded where perf is refused)"},
    {.name = "tags",
     .type = "string",
     .help = "tags to find the operation by, separated by commas"},
    {.name = "egressProvider", .type = "string", .help = "not supported: an error"},
};

}  // namespace

const std::span<const Parameter> kTraceParameters{kParameters};

const Shape& shape_of(const ProviderBody*) {
  using P = ProviderBody;
  static const auto shape = describe<P>(
      "ProviderRequest", "An event provider to enable",
      {member<&P::name>("name", "provider name"),
       member<&P::keywords>("keywords", "keywords as a hexadecimal number, such as 0x1"),
       member<&P::level>("eventLevel", "Critical, Error, Warning, Informational or Verbose"),
       member<&P::arguments>("arguments", "arguments of the provider by name"),
       member<&P::ids>("eventIds", "only the events with these ids")});
  return shape;
}

const Shape& shape_of(const TraceBody*) {
  using T = TraceBody;
  static const auto shape = describe<T>(
      "TraceRequest", "What to record; field names are case-insensitive",
      {member<&T::pid>("pid", "process id"), member<&T::uid>("uid", "GUID of its runtime"),
       member<&T::name>("name", "process name"),
       member<&T::profile>("profile", "profiles, separated by commas"),
       member<&T::providers>("providers", "event providers to enable"),
       member<&T::buffer_size>("bufferSizeMB", "size of the runtime's event buffer in MB"),
       member<&T::duration>("durationSeconds", "length of the recording; -1: until it is stopped"),
       member<&T::lease>("leaseSeconds",
                         "time without requests after which it is stopped (default: none with "
                         "durationSeconds, else 600)"),
       member<&T::rundown>("requestRundown", "whether method names are written at the end"),
       member<&T::rate>("rate", "CPU samples per second"),
       member<&T::sampler>("sampler", "source of CPU samples: best, perf, agent or runtime"),
       member<&T::all>("all", "whether to record the whole machine"),
       member<&T::tags>("tags", "tags of the operation, separated by commas")});
  return shape;
}

Result<> no_egress(const Call& call) {
  const auto provider = call.text("egressProvider");
  if (!provider) return {};
  return fail(Errc::kUsage, "egressProvider={}: there are no egress providers yet", *provider)
      .hint("leave it out: the answer is the file");
}

Result<TraceRequest> parse_trace_body(std::string_view json) {
  TraceRequest options;
  if (trim(json).empty()) return options;
  const auto body = read_json(json);
  if (!body) return fail(Errc::kUsage, "the body is not JSON: {}", body.error().what);
  const auto* members = body->object();
  if (!members) return fail(Errc::kUsage, "the body must be a JSON object");
  std::set<std::string> seen;
  for (const auto& member : *members) {
    if (!seen.insert(lower(member.name)).second) return wrong(member.name, "is given twice");
    if (member.value.is_null()) continue;
    TRY(take_field(options, member.name, member.value));
  }
  return options;
}

Result<TraceRequest> trace_request(const Call& call) {
  auto options = TRY(parse_trace_body(call.request().body));
  const auto selector = TRY(selector_of(call));
  if (selector.any()) options.selector = selector;
  if (TRY(call.truth("all", false))) options.whole_machine = true;
  if (auto profile = call.text("profile")) options.profile = std::move(profile);
  if (const auto seconds = TRY(call.number("durationSeconds", -1, kMostSeconds)))
    options.duration_seconds = *seconds;
  if (const auto seconds = TRY(call.number("leaseSeconds", 1, kMostSeconds)))
    options.lease_seconds = *seconds;
  options.metrics_seconds = TRY(call.number("metricsIntervalSeconds", 1, kMostSeconds));
  if (const auto rate = TRY(call.number("rate", 1, 20000)))
    options.rate = static_cast<unsigned>(*rate);
  if (const auto sampler = call.text("sampler")) options.sampler = TRY(sampler_of(*sampler));
  if (auto tags = call.text("tags")) options.tags = *std::move(tags);
  if (options.whole_machine && options.selector.any())
    return fail(Errc::kUsage, "all: a process was named too");
  return options;
}

Result<ops::ProviderWords> provider_words(const TraceRequest& options) {
  ops::ProviderWords words;
  words.ready = options.providers;
  if (!options.profile) return words;
  std::string profiles;
  const auto add = [&](std::string_view names) {
    if (!names.empty()) profiles += (profiles.empty() ? "" : ",") + std::string{names};
  };
  for (const auto part : split(*options.profile, ',')) {
    const auto word = trim(part);
    if (equal_ignoring_case(word, "metrics")) {
      words.providers.push_back(metrics_providers(options.metrics_seconds.value_or(1)));
      continue;
    }
    const auto* found = std::ranges::find_if(
        kTranslated, [&](const auto& one) { return equal_ignoring_case(one.name, word); });
    if (found == std::end(kTranslated)) {
      add(word);
      continue;
    }
    add(found->profiles);
    if (!found->providers.empty()) words.providers.emplace_back(found->providers);
  }
  if (!profiles.empty()) words.profiles = profiles;
  return words;
}

HttpResponse record_problem(const Error& error) {
  if (ops::is_session_limit(error)) return problem(429, error.what, error.hint);
  return problem(error);
}

Result<ops::RecordRequest> record_request(const TraceRequest& options) {
  ops::RecordRequest out{.target = {}};
  out.providers = TRY(provider_words(options));
  if (const auto good = ops::check_words(out.providers); !good) {
    auto error = good.error();
    error.what = "profile: " + error.what;
    return fail(std::move(error));
  }
  out.whole_machine = options.whole_machine;
  if (options.buffer_mb) out.buffer_mb = *options.buffer_mb;
  if (options.rate) out.rate = *options.rate;
  if (options.sampler) out.sampler = *options.sampler;
  out.may_load_agent = true;
  out.rundown = options.rundown.value_or(true);
  return out;
}

}  // namespace clrscope::http
