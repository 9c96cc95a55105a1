// Who used the controller for what.
#include "http/audit.h"
#include "base/printable.h"

#include "base/json_reader.h"
#include "http/route.h"
#include "http/services.h"
#include "site/answer.h"

namespace clrscope::http {
namespace {

constexpr std::int64_t kMostLines = 10'000;

std::string printed(const JsonValue& line, std::string_view name) {
  return printable(text_at(line, name));
}

struct AuditAnswer {
  std::uint64_t written = 0, lost = 0;
  std::string trouble{};
  std::vector<RawJsonOf<Use>> uses{};
};
const Shape& shape_of(const AuditAnswer*) {
  using A = AuditAnswer;
  static const auto shape = describe<A>(
      "Audit", "The audit log",
      {member<&A::written>("written", "requests written to the log since the start"),
       member<&A::lost>("lost", "requests that could not be written"),
       member_unless_empty<&A::trouble>("trouble", "why the last one could not be written"),
       member<&A::uses>("uses", "requests, the newest last")});
  return shape;
}

// time status method target caller process: what a person looks for.
std::string text_line(const std::string& line) {
  const auto json = read_json(line);
  if (!json) return {};
  return fmt::format("{} {} {} {} by {} from {}{}\n", printed(*json, "time"),
                     count_at(*json, "status"), printed(*json, "method"), printed(*json, "target"),
                     printed(*json, "caller"), printed(*json, "address"),
                     json->find("process") ? " about " + printed(*json, "process") : "");
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
  AuditAnswer answer{.written = state.written, .lost = state.lost, .trouble = state.trouble};
  for (const auto& line : lines) answer.uses.push_back({line});
  return answer_with(answer);
}

constexpr Parameter kParameters[] = {
    {.name = "limit", .type = "integer", .help = "number of the newest requests (default: 200)"}};

constexpr Route kRoutes[] = {
    {.method = "GET",
     .path = "/audit",
     .scope = Scope::kAdmin,
     .summary = "Audit log: requests to this controller, the newest last",
     .types = "application/json application/x-ndjson text/plain",
     .parameters = kParameters,
     .answer = show,
     .json = value_shape<AuditAnswer>,
     .line = value_shape<Use>},
};

}  // namespace

extern constexpr Routes audit_routes{kRoutes};

}  // namespace clrscope::http
