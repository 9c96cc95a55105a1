// Who used the controller for what.
#include "http/audit.h"
#include "base/printable.h"

#include "base/json.h"
#include "base/json_reader.h"
#include "http/answer.h"
#include "http/route.h"
#include "http/services.h"

namespace clrscope::http {
namespace {

constexpr std::int64_t kMostLines = 10'000;

std::string text_member(const JsonValue& line, std::string_view name) {
  const auto* value = line.find(name);
  return value && value->text() ? printable(*value->text()) : "";
}

// time status method target caller process: what a person looks for.
std::string text_line(const std::string& line) {
  const auto json = read_json(line);
  if (!json) return {};
  const auto* status = json->find("status");
  return fmt::format("{} {} {} {} by {} from {}{}\n", text_member(*json, "time"),
                     status ? status->integer().value_or(0) : 0, text_member(*json, "method"),
                     text_member(*json, "target"), text_member(*json, "caller"),
                     text_member(*json, "address"),
                     json->find("process") ? " about " + text_member(*json, "process") : "");
}

Result<HttpResponse> show(Call& call) {
  const auto most = TRY(call.number("limit", 1, kMostLines)).value_or(200);
  const auto& audit = call.services().audit;
  const auto lines = audit.last(static_cast<std::size_t>(most));
  std::string body;
  if (call.wants(kText)) {
    for (const auto& line : lines) body += text_line(line);
    return text_answer(std::move(body));
  }
  if (call.wants(kNdjson)) {
    for (const auto& line : lines) body += line + "\n";
    return HttpResponse{.type = std::string{kNdjson}, .body = std::move(body)};
  }
  const auto state = audit.state();
  JsonWriter json;
  json.begin_object().member("written", state.written).member("lost", state.lost);
  if (!state.trouble.empty()) json.member("trouble", state.trouble);
  json.key("uses").begin_array().end_array().end_object();
  body = std::move(json).take();
  body.resize(body.size() - 2);  // "]}"
  for (std::size_t i = 0; i < lines.size(); ++i) body += (i == 0 ? "" : ",\n") + lines[i];
  return json_answer(body + "]}\n");
}

constexpr Parameter kParameters[] = {
    {.name = "limit", .type = "integer", .help = "how many of the newest; 200 unless told"}};

constexpr Route kRoutes[] = {
    {.method = "GET",
     .path = "/audit",
     .scope = Scope::kAdmin,
     .summary = "Who used this controller for what, the newest uses last",
     .types = "application/json application/x-ndjson text/plain",
     .parameters = kParameters,
     .answer = show},
};

}  // namespace

extern constexpr Routes audit_routes{kRoutes};

}  // namespace clrscope::http
