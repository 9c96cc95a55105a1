#include "fleet/configuration.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/printable.h"
#include "base/text.h"

namespace clrscope::fleet {
namespace {

constexpr std::size_t kMostPatterns = 100;
constexpr std::size_t kLongestText = 500;
constexpr std::chrono::seconds kFresh{2};
constexpr std::chrono::minutes kNoteAgain{10};
constexpr std::size_t kMostNoted = 100'000;
constexpr std::size_t kMostWaiting = 5'000;

// The same on every server and in every version.
std::uint64_t stable_hash(std::string_view text, std::uint64_t hash) {
  for (const char c : text) hash = (hash ^ static_cast<std::uint8_t>(c)) * 0x100000001b3U;
  return hash;
}

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    const auto length = utf8_length(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

Result<std::vector<std::string>> patterns_at(const JsonValue& object, std::string_view name) {
  std::vector<std::string> patterns;
  const auto* value = object.find(name);
  if (value == nullptr || value->is_null()) return patterns;
  if (value->array() == nullptr)
    return fail(Errc::kUsage, "{} must be a list of method patterns", name);
  for (const auto& one : *value->array()) {
    const auto* text = one.text();
    if (text == nullptr || text->empty() || text->size() > kLongestText || !is_utf8(*text) ||
        std::ranges::any_of(*text, [](char c) { return static_cast<std::uint8_t>(c) < ' '; }))
      return fail(Errc::kUsage, "{} must be a list of method patterns of 1 to {} characters", name,
                  kLongestText);
    if (text->front() == '[' && (text->size() < 3 || text->back() != ']'))
      return fail(Errc::kUsage, "an attribute pattern must be [NAME]: {}", *text);
    patterns.push_back(*text);
  }
  if (patterns.size() > kMostPatterns)
    return fail(Errc::kUsage, "{} must have at most {} patterns", name, kMostPatterns);
  return patterns;
}

Result<double> number_between(const JsonValue& value, std::string_view name, double low,
                              double high) {
  const auto number = value.number();
  if (!number || !(*number >= low && *number <= high))
    return fail(Errc::kUsage, "{} must be a number from {} to {}", name, low, high);
  return *number;
}

Result<std::uint64_t> version_at(const JsonValue& value, std::string_view name) {
  const auto number = value.integer();
  if (!number || *number < 0) return fail(Errc::kUsage, "{} must be a version", name);
  return static_cast<std::uint64_t>(*number);
}

Result<std::string> line_at(const JsonValue& object, std::string_view name, std::size_t most) {
  const auto* value = object.find(name);
  if (value == nullptr || value->is_null()) return std::string{};
  if (value->text() == nullptr || value->text()->size() > most || !is_utf8(*value->text()))
    return fail(Errc::kUsage, "{} must be a text of at most {} characters", name, most);
  return *value->text();
}

std::string text_of(const ProfileSettings& settings) {
  JsonWriter json;
  json.begin_object();
  write_settings(json, settings);
  return std::move(json.end_object()).take();
}

// Settings that another version wrote and we cannot read leave the host as it is.
std::optional<ConfigurationVersion> version_of(const store::ConfigurationChange& change) {
  const auto json = read_json(change.settings);
  if (!json) return {};
  auto settings = read_settings(*json, Include::kOptional);
  if (!settings) return {};
  return ConfigurationVersion{.version = change.version,
                              .time = change.time,
                              .who = change.who,
                              .comment = change.comment,
                              .percent = change.percent,
                              .include = std::move(settings->include),
                              .exclude = std::move(settings->exclude),
                              .sample = settings->sample,
                              .budget_percent = settings->budget_percent};
}

}  // namespace

Result<ProfileSettings> read_settings(const JsonValue& object, Include include) {
  if (object.object() == nullptr) return fail(Errc::kUsage, "the body must be a JSON object");
  ProfileSettings settings{.include = TRY(patterns_at(object, "include")),
                           .exclude = TRY(patterns_at(object, "exclude"))};
  if (settings.include.empty() && include == Include::kRequired)
    return fail(Errc::kUsage, "include must name at least one method pattern")
        .hint("name the code of the service, such as Shop or Shop.*Async");
  if (const auto* sample = object.find("sample"); sample && !sample->is_null())
    if (!sample->text() || *sample->text() != "auto")
      settings.sample = TRY(number_between(*sample, "sample", 0, 1));
  if (const auto* budget = object.find("budgetPercent"); budget && !budget->is_null())
    settings.budget_percent = TRY(number_between(*budget, "budgetPercent", 0.1, 50));
  return settings;
}

void write_settings(JsonWriter& json, const ProfileSettings& settings) {
  json.key("include").begin_array();
  for (const auto& one : settings.include) json.value(one);
  json.end_array().key("exclude").begin_array();
  for (const auto& one : settings.exclude) json.value(one);
  json.end_array();
  if (settings.sample) json.member("sample", *settings.sample);
  json.member("budgetPercent", settings.budget_percent);
}

bool is_in_stage(std::string_view service, std::string_view host, std::uint32_t percent) {
  auto hash = stable_hash(service, 0xcbf29ce484222325U);
  hash = stable_hash(host, (hash ^ 0xffU) * 0x100000001b3U);
  hash ^= hash >> 32U;  // the low bits of this hash alone are poor
  hash *= 0xd6e8feb86659fd93U;
  hash ^= hash >> 32U;
  return hash % 100 < percent;
}

const Shape& shape_of(const ConfigurationVersion*) {
  using V = ConfigurationVersion;
  static const auto shape = describe<V>(
      "ConfigurationVersion", "a version of the configuration of a service",
      {member<&V::version>("version", "from 1 on"), member<&V::time>("time", "of the change"),
       member<&V::who>("who", "name of the token that changed it"),
       member<&V::comment>("comment", "why"),
       member<&V::percent>("percent", "of the hosts that get it"),
       member<&V::include>("include",
                           "patterns of methods that are timed; none: as the host was started"),
       member<&V::exclude>("exclude", "patterns of methods that are not"),
       member<&V::sample>("sample", "share of requests with spans; absent: by the budget"),
       member<&V::budget_percent>("budgetPercent", "CPU time of the process that it may cost"),
       member<&V::processes>("processes", "that have it now")});
  return shape;
}

const Shape& shape_of(const ServiceConfiguration*) {
  using S = ServiceConfiguration;
  static const auto shape = describe<S>("ServiceConfiguration", "how a service shall be profiled",
                                        {member<&S::service>("service", "name"),
                                         member<&S::versions>("versions", "the newest first")});
  return shape;
}

Result<WantedChange> read_change(std::string_view text) {
  const auto json = TRY(read_json(text));
  if (json.object() == nullptr) return fail(Errc::kUsage, "the body must be a JSON object");
  WantedChange wanted{.service = TRY(line_at(json, "service", 255)),
                      .comment = TRY(line_at(json, "comment", kLongestText))};
  if (wanted.service.empty()) return fail(Errc::kUsage, "service is required");
  if (const auto* seen = json.find("basedOn"))
    wanted.based_on = TRY(version_at(*seen, "basedOn"));
  else
    return fail(Errc::kUsage, "basedOn is required")
        .hint("the newest version that you have seen, or 0 if there is none");
  if (const auto* percent = json.find("percent"); percent && !percent->is_null())
    wanted.percent = static_cast<std::uint32_t>(TRY(number_between(*percent, "percent", 0, 100)));
  if (const auto* back = json.find("rollBackTo"); back && !back->is_null())
    wanted.roll_back_to = TRY(version_at(*back, "rollBackTo"));
  else
    wanted.settings = TRY(read_settings(json, Include::kRequired));
  return wanted;
}

Result<Configurations::Map> Configurations::read() {
  Map map;
  for (const auto& change : TRY(store_.configurations()))
    if (auto version = version_of(change)) map[change.service].push_back(*std::move(version));
  // A replica of the store may be behind: nobody forgets a version that was there.
  cache_.with([&](Cache& cache) {
    for (auto& [service, versions] : cache.services)
      for (auto& one : versions)
        if (auto& known = map[service];
            std::ranges::find(known, one.version, &ConfigurationVersion::version) == known.end())
          known.push_back(std::move(one));
    for (auto& [service, versions] : map)
      std::ranges::sort(versions, std::greater{}, &ConfigurationVersion::version);
    cache = {map, TraceClock::now(), true};
  });
  return map;
}

Result<std::vector<ConfigurationVersion>> Configurations::known(const std::string& service) {
  const auto look = [&](bool at_any_age) {
    return cache_.with([&](const Cache& cache) -> std::optional<std::vector<ConfigurationVersion>> {
      if (!cache.there || (!at_any_age && TraceClock::now() - cache.read > kFresh)) return {};
      const auto found = cache.services.find(service);
      return found == cache.services.end() ? std::vector<ConfigurationVersion>{} : found->second;
    });
  };
  if (auto fresh = look(false)) return *std::move(fresh);
  auto map = read();
  if (map) return std::move((*map)[service]);
  if (auto old = look(true)) return *std::move(old);
  return fail(map.error());
}

Result<std::vector<ServiceConfiguration>> Configurations::list(const std::string& service) {
  auto map = TRY(read());
  std::map<std::pair<std::string, std::uint64_t>, std::uint64_t> processes;
  constexpr std::chrono::minutes kAlive{15};
  for (const auto& agent : TRY(store_.agents()))
    if (wall_now() - agent.time < kAlive) ++processes[{agent.service, agent.configuration}];
  std::vector<ServiceConfiguration> all;
  for (auto& [name, versions] : map) {
    if (!service.empty() && name != service) continue;
    for (auto& one : versions) one.processes = processes[{name, one.version}];
    all.push_back({name, std::move(versions)});
  }
  return all;
}

Result<ConfigurationVersion> Configurations::change(const WantedChange& wanted,
                                                    const std::string& who) {
  auto map = TRY(read());
  const auto& versions = map[wanted.service];
  auto newest = versions.empty() ? 0 : versions.front().version;
  for (const auto& one : TRY(store_.configurations()))  // also one that we cannot read
    if (one.service == wanted.service) newest = std::max(newest, one.version);
  const auto conflict = [&](std::uint64_t version) {
    return fail(Errc::kBusy, "the configuration of {} was changed meanwhile: it has version {}",
                wanted.service, version)
        .hint("look at the new version, then send the change with basedOn {}", version);
  };
  if (newest != wanted.based_on) return conflict(newest);
  auto settings = wanted.settings;
  auto comment = wanted.comment;
  if (wanted.roll_back_to && *wanted.roll_back_to == 0) {
    settings = {};
    if (comment.empty()) comment = "back to what hosts were started with";
  } else if (wanted.roll_back_to) {
    const auto found =
        std::ranges::find(versions, *wanted.roll_back_to, &ConfigurationVersion::version);
    if (found == versions.end())
      return fail(Errc::kNotFound, "{} has no version {}", wanted.service, *wanted.roll_back_to);
    settings = found->settings();
    if (comment.empty()) comment = fmt::format("back to version {}", *wanted.roll_back_to);
  }
  const store::ConfigurationChange made{.service = wanted.service,
                                        .version = newest + 1,
                                        .time = wall_now(),
                                        .who = who,
                                        .comment = std::move(comment),
                                        .percent = wanted.percent,
                                        .settings = text_of(settings)};
  auto version = version_of(made);
  if (!version) return fail(Errc::kUsage, "the settings cannot be stored");
  if (!TRY(store_.add_configuration(made))) return conflict(newest + 1);
  (void)read();  // the next question of a host is answered with it
  return *std::move(version);
}

Result<ConfigurationVersion> Configurations::for_host(const std::string& service,
                                                      const std::string& host) {
  for (const auto& one : TRY(known(service)))
    if (is_in_stage(service, host, one.percent)) return one;
  return ConfigurationVersion{};
}

void Configurations::note(const store::AgentState& state) {
  const auto key = state.service + '\0' + state.host + '\0' + state.instance;
  const auto now = TraceClock::now();
  states_.with([&](States& states) {
    if (states.noted.size() > kMostNoted) states.noted.clear();
    auto& last = states.noted[key];
    if (last.at != TraceTime{} && last.configuration == state.configuration &&
        last.trouble == state.trouble && now - last.at <= kNoteAgain)
      return;
    if (states.waiting.size() >= kMostWaiting) return;  // it comes again
    last = {state.configuration, state.trouble, now};
    states.waiting.push_back(state);
  });
}

Result<> Configurations::flush() {
  const auto waiting =
      states_.with([](States& states) { return std::exchange(states.waiting, {}); });
  if (waiting.empty()) return {};
  const auto done = store_.note_agents(waiting);
  // What was noted meanwhile is newer: it is written after these.
  if (!done)
    states_.with([&](States& states) {
      states.waiting.insert(states.waiting.begin(), waiting.begin(), waiting.end());
      if (states.waiting.size() > kMostWaiting) states.waiting.resize(kMostWaiting);
    });
  return done;
}

}  // namespace clrscope::fleet
