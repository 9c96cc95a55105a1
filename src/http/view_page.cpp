#include "http/view_page.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/html.h"

namespace clrscope::http {

Result<PageContent> view_page(Call& call, const Process& process, ops::Topic topic,
                              std::string_view title, const std::vector<ViewTable>& tables) {
  const auto name = ops::name_of(topic);
  const auto path = fmt::format("/views/{}", name);
  const auto source = fmt::format("{}?pid={}", path, process.pid);
  PageContent content{.title = fmt::format("{} of {}", title, process.name)};
  auto& main = content.main;
  main = fmt::format(
      "<h1>{} of {} ({})</h1>\n<div data-view=\"events\" data-topic=\"{}\" data-pid=\"{}\" "
      "data-source=\"{}\">\n",
      html_escaped(title), html_escaped(process.name), process.pid, name, process.pid,
      html_escaped(source));
  if (!is_followed(call, process.pid, topic)) {
    say_waiting(call, content, path, process.pid);
    main += "</div>\n";
    return content;
  }
  const auto told = TRY(ask_json(call, source));
  const auto* summary = told.find("summary");
  if (summary && summary->text())
    main += "<p class=\"lead\">" + html_escaped(*summary->text()) + "</p>\n";
  if (const auto* ended = told.find("ended"); ended && ended->text())
    main += notice("The process is gone: " + *ended->text(), "What it told is kept for a while.");
  if (const auto* lost = told.find("lost"); lost && lost->integer().value_or(0) > 0)
    main += notice(fmt::format("{} events were lost.", *lost->integer()));
  bool any = false;
  for (const auto& table : tables) {
    const auto* rows = told.find(table.member);
    if (!rows || !rows->array()) continue;
    auto all = *rows->array();
    if (table.newest_first) std::ranges::reverse(all);
    const auto html = table_of(JsonValue{std::move(all)}, table.columns, table.caption);
    any = any || !html.empty();
    main += html;
  }
  if (!any)
    main +=
        "<p class=\"dim no-script\">It is watched from now on, for some minutes after you leave: "
        "reload to see what came.</p>\n";
  main += "</div>\n";
  return content;
}

}  // namespace clrscope::http
