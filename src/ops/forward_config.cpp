#include "ops/forward_config.h"

#include <fmt/format.h>

#include "base/io.h"
#include "base/text.h"

namespace clrscope::ops {
namespace {

constexpr std::size_t kLargestFile = 1 << 20;

struct Section {
  RouteWords words{};
  std::size_t line = 0;
};

Result<bool> truth(std::string_view text) {
  if (equal_ignoring_case(text, "yes") || equal_ignoring_case(text, "true")) return true;
  if (equal_ignoring_case(text, "no") || equal_ignoring_case(text, "false")) return false;
  return fail(Errc::kUsage, "'{}' must be yes or no", text);
}

Result<std::vector<pid_t>> pids(std::string_view text) {
  std::vector<pid_t> all;
  for (const auto word : split(text, ',')) {
    const auto pid = parse_number(trim(word));
    if (!pid || *pid == 0 || *pid > 0x7fffffff)
      return fail(Errc::kUsage, "invalid process id '{}'", word)
          .hint("run clrscope ps to list the processes");
    all.push_back(static_cast<pid_t>(*pid));
  }
  return all;
}

Result<std::uint32_t> limit(std::string_view text, std::uint32_t most) {
  const auto number = parse_number(text);
  if (!number || *number == 0 || *number > most)
    return fail(Errc::kUsage, "'{}' must be a number between 1 and {}", text, most);
  return static_cast<std::uint32_t>(*number);
}

// What goes for all sinks and stands before the first section. False: it is none of these.
Result<bool> set_for_all(ForwardPlan& plan, std::string_view key, std::string_view value) {
  if (key == "spool")
    plan.spool = value;
  else if (key == "spool-limit")
    plan.spool_limit = TRY(parse_size(value));
  else if (key == "max-histograms")
    plan.limits.histograms = TRY(limit(value, hub::MeterLimits::kMostHistograms));
  else if (key == "max-time-series")
    plan.limits.series = TRY(limit(value, hub::MeterLimits::kMostSeries));
  else
    return false;
  return true;
}

// What a section says of a thing replaces what was said for all.
Result<> set(RouteWords& words, std::string_view key, std::string_view value) {
  std::string text{value};
  if (key == "process-id") {
    words.targets = {.pids = TRY(pids(value))};
  } else if (key == "name") {
    words.targets = {};
    for (const auto name : split(value, ',')) words.targets.names.emplace_back(trim(name));
  } else if (key == "all") {
    words.targets = {.all = TRY(truth(value))};
  } else if (key == "counters") {
    words.counters = {std::move(text)};
  } else if (key == "providers") {
    words.providers.providers = {std::move(text)};
  } else if (key == "profile") {
    words.providers.profiles = std::move(text);
  } else if (key == "clrevents") {
    words.providers.clr_events = std::move(text);
  } else if (key == "clreventlevel") {
    words.providers.clr_level = std::move(text);
  } else if (key == "where") {
    words.where = std::move(text);
  } else if (key == "stacks") {
    words.stacks = TRY(truth(value));
  } else if (key == "interval") {
    words.interval = TRY(parse_duration(value));
  } else {
    return fail(Errc::kUsage, "unknown key")
        .hint(
            "use process-id, name, all, counters, providers, profile, clrevents, clreventlevel, "
            "where, stacks, interval; before the first section also spool, spool-limit, "
            "max-histograms, max-time-series");
  }
  return {};
}

// The same failure, with the place it has in the file.
Failure at(std::string_view file, std::size_t line, std::string_view key, Failure failure) {
  auto error = std::move(failure).take();
  error.code = Errc::kUsage;
  error.what = key.empty() ? fmt::format("{}:{}: {}", file, line, error.what)
                           : fmt::format("{}:{}: {}: {}", file, line, key, error.what);
  return fail(std::move(error));
}

}  // namespace

Result<ForwardPlan> parse_forward_config(std::string_view text, std::string_view file) {
  ForwardPlan plan;
  RouteWords common;
  std::vector<Section> sections;
  std::size_t number = 0;
  for (const auto raw : split(text, '\n')) {
    ++number;
    const auto line = trim(raw);
    if (line.empty() || line.starts_with('#')) continue;
    if (line.starts_with('[')) {
      if (!line.ends_with(']'))
        return at(file, number, {},
                  fail(Errc::kUsage, "'{}' has no closing ]", line).hint("[graphite:HOST:PORT]"));
      sections.push_back({common, number});
      sections.back().words.to = trim(line.substr(1, line.size() - 2));
      continue;
    }
    const auto equals = line.find('=');
    if (equals == std::string_view::npos)
      return at(file, number, {},
                fail(Errc::kUsage, "'{}' is neither [SINK] nor key = value", line));
    const auto key = trim(line.substr(0, equals)), value = trim(line.substr(equals + 1));
    Result<> done{};
    if (value.empty()) {
      done = fail(Errc::kUsage, "has no value");
    } else {
      auto taken = sections.empty() ? set_for_all(plan, key, value) : Result<bool>{false};
      if (!taken)
        done = fail(std::move(taken.error()));
      else if (!*taken)
        done = set(sections.empty() ? common : sections.back().words, key, value);
    }
    if (!done) return at(file, number, key, fail(std::move(done.error())));
  }
  if (sections.empty())
    return fail(Errc::kUsage, "{}: no sink defined", file)
        .hint("start a section such as [graphite:HOST:PORT]");
  for (auto& section : sections) {
    section.words.limits = plan.limits;
    auto route = route_of(section.words);
    if (!route) return at(file, section.line, section.words.to, fail(std::move(route.error())));
    plan.routes.push_back(std::move(*route));
  }
  return plan;
}

Result<ForwardPlan> read_forward_config(const std::string& path) {
  const auto text = TRY(read_file(path, kLargestFile));
  return parse_forward_config(text, path);
}

}  // namespace clrscope::ops
