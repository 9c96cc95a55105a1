#include "fleet/check_command.h"

#include <fmt/format.h>

#include "base/json.h"
#include "base/text.h"
#include "fleet/options.h"
#include "store/check.h"

namespace clrscope::fleet {
namespace {

constexpr OptionText kOptions[] = {
    {"--store", "STORE", "all servers of the store: clickhouse:URL[,URL…] (required)"},
    {"--json", "", "print what was found as JSON"},
    {"--help", "", "show this text"},
};

std::string json_of(const store::StoreCheck& check) {
  JsonWriter json;
  json.begin_object().member("compared", check.compared).member("unsettled", check.unsettled);
  json.member("different", check.different).key("differences").begin_array();
  for (const auto& one : check.differences) {
    json.begin_object().member("table", one.table).member("service", one.service);
    json.member("time", iso8601(one.time)).member("requests", one.requests);
    json.member("view", one.view).end_object();
  }
  return std::move(json.end_array().end_object()).take() + "\n";
}

std::string text_of(const store::StoreCheck& check) {
  std::string text;
  for (const auto& one : check.differences)
    text += fmt::format("{} of {} at {}\n  requests: {}\n  view:     {}\n", one.table, one.service,
                        iso8601(one.time), one.requests, one.view);
  if (check.different > 0)
    return text + fmt::format("{} of {} sums differ\n", format_count(check.different),
                              format_count(check.compared));
  return fmt::format("All {} sums of the views agree with the requests.\n",
                     format_count(check.compared));
}

}  // namespace

Result<int> check_command(std::span<const std::string_view> words) {
  const auto options = TRY(CommandOptions::parse(kOptions, words));
  if (options.has("--help")) {
    fmt::print("{}", help_text("check --store clickhouse:URL[,URL…]", kOptions,
                               "  clrscope-fleet check --store clickhouse:http://127.0.0.1:8123\n"
                               "  clrscope-fleet check --store "
                               "clickhouse:https://a:8443,https://b:8443,https://c:8443 --json"));
    return 0;
  }
  if (!options.has("--store"))
    return fail(Errc::kUsage, "--store is required")
        .hint("for example --store clickhouse:http://127.0.0.1:8123");
  const auto check = TRY(store::check_store(options.text("--store")));
  fmt::print("{}", options.has("--json") ? json_of(check) : text_of(check));
  return check.different > 0 ? 2 : 0;
}

}  // namespace clrscope::fleet
