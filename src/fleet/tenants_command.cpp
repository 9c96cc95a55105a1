#include "fleet/tenants_command.h"

#include <fmt/format.h>

#include <cstdio>

#include "base/io.h"
#include "base/json_reader.h"
#include "base/table.h"
#include "base/text.h"
#include "fleet/options.h"
#include "fleet/server.h"
#include "net/http_client.h"

namespace clrscope::fleet {
namespace {

constexpr OptionText kOptions[] = {
    {"--server", "URL", "of the pages and REST API of a server (default: http://127.0.0.1:52331)"},
    {"--token-file", "FILE", "file that holds a token of scope read; of tenant *: all tenants"},
    {"--ca", "FILE", "PEM certificates to trust (default: those of the system)"},
    {"--json", "", "print the answer as JSON"},
    {"--help", "", "show this text"},
};

std::string of_quota(const std::string& used, const std::string& quota, bool has) {
  return has ? fmt::format("{} of {}", used, quota) : used;
}

std::string table_of(const JsonValue& answer) {
  Table table{{"TENANT", ">RETENTION", ">STORED", ">SERIES", ">WAITED", ">REFUSED", "STATE"}};
  const auto* tenants = answer.find("tenants");
  if (tenants == nullptr || tenants->array() == nullptr) return {};
  for (const auto& one : *tenants->array()) {
    const auto bytes = count_at(one, "quotaBytes"), series = count_at(one, "quotaSeries");
    const auto name = text_at(one, "tenant");
    table.add({name.empty() ? "(only one)" : name, format_duration(ms_at(one, "retentionMs")),
               of_quota(format_bytes(count_at(one, "bytes")), format_bytes(bytes), bytes > 0),
               series > 0
                   ? of_quota(format_count(count_at(one, "series")), format_count(series), true)
                   : "no quota",
               format_count(count_at(one, "refusedBatches")),
               format_count(count_at(one, "refusedRequests")),
               truth_at(one, "full") ? "full: batches wait" : "ok"});
  }
  return table.text();
}

}  // namespace

Result<int> list_tenants(std::span<const std::string_view> words) {
  const auto options = TRY(CommandOptions::parse(kOptions, words));
  if (options.has("--help")) {
    const auto text = help_text("tenants [--server URL] --token-file FILE", kOptions,
                                "  clrscope-fleet tenants --token-file operator-token\n"
                                "  clrscope-fleet tenants --server https://fleet.example:52331 "
                                "--token-file token --json");
    std::fwrite(text.data(), 1, text.size(), stdout);
    return 0;
  }
  auto url = TRY(net::parse_url(options.text("--server", "http://127.0.0.1:52331")));
  const auto name = url.text();
  if (!url.tls && options.has("--token-file") && !is_loopback(url.address.text()))
    return fail(Errc::kUsage, "the token would travel in plain text to {}", name)
        .hint("use https://");
  url.path = "/fleet/tenants";
  std::vector<net::HttpField> fields{{"Accept", "application/json"}};
  if (options.has("--token-file")) {
    const auto word = TRY(read_file(options.text("--token-file"), 4096));
    fields.push_back({"Authorization", fmt::format("Bearer {}", trim(word))});
  }
  std::shared_ptr<net::TlsContext> tls;
  if (url.tls)
    tls = TRY(net::TlsContext::client(options.text("--ca"), net::TlsContext::Trust::kVerify));
  net::HttpClient client{std::move(url), std::move(tls)};
  const auto answer = TRY(client.ask("GET", fields, "", Deadline{std::chrono::seconds{30}}));
  const auto json = read_json(answer.body);
  if (answer.status != 200 || !json)
    return fail(answer.status == 401 || answer.status == 403 ? Errc::kDenied : Errc::kSystem,
                "{} answered {}{}", name, answer.status,
                json ? ": " + text_at(*json, "detail") : "")
        .hint("create a token: clrscope fleet token --name NAME --scope read --tenant '*'");
  const auto text = options.has("--json") ? answer.body : table_of(*json);
  std::fwrite(text.data(), 1, text.size(), stdout);
  return 0;
}

}  // namespace clrscope::fleet
