// Who used this controller for what.
#include "http/audit.h"

#include <fmt/format.h>

#include "base/html.h"
#include "http/markup.h"
#include "http/page.h"
#include "http/services.h"

namespace clrscope::http {
namespace {

Result<PageContent> render(Call& call) {
  PageContent content{.title = "Audit"};
  auto& audit = call.services().audit;
  auto& main = content.main;
  main = "<h1>Audit</h1>\n";
  const auto state = audit.state();
  if (state.lost > 0)
    main += notice(fmt::format("{} uses could not be written down.", state.lost), state.trouble,
                   "trouble");
  std::string rows = "[";
  for (const auto& line : audit.last(200)) rows += (rows.size() > 1 ? "," : "") + line;
  const auto json = TRY(read_json(rows + "]"));
  const auto table = table_of(json,
                              {{"time", "Time", Column::As::kTime},
                               {"caller", "Who"},
                               {"address", "From"},
                               {"method", "Method"},
                               {"target", "What", Column::As::kCode},
                               {"process", "Process"},
                               {"status", "Status", Column::As::kNumber},
                               {"bytes", "Bytes", Column::As::kBytes},
                               {"durationMs", "Took", Column::As::kMs}},
                              "The newest uses, the last one below");
  main += table.empty() ? notice("Nobody has used this controller yet.") : table;
  return content;
}

}  // namespace

extern const Page audit_page{
    .path = "/audit", .title = "Audit", .render = render, .scope = Scope::kAdmin};

}  // namespace clrscope::http
