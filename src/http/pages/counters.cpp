// Counters and meters: the values as they are; the view draws their history.
#include <fmt/format.h>

#include "base/html.h"
#include "http/live_page.h"
#include "http/live_stream.h"
#include "http/markup.h"
#include "http/page.h"
#include "http/services.h"
#include "ops/live/answers.h"

namespace clrscope::http {
namespace {

std::string tags_of(const JsonValue& counter) {
  std::string out;
  if (const auto* tags = counter.find("tags"); tags && tags->object())
    for (const auto& tag : *tags->object())
      out += (out.empty() ? "" : ", ") + tag.name + "=" +
             (tag.value.text() ? *tag.value.text() : std::string{});
  return out;
}

Result<PageContent> about(Call& call, const Process& process) {
  PageContent content{.title = fmt::format("Counters of {}", process.name)};
  auto& main = content.main;
  main = fmt::format("<h1>Counters of {} ({})</h1>\n<div data-view=\"counters\" data-pid=\"{}\">\n",
                     html_escaped(process.name), process.pid, process.pid);
  if (!is_followed(call, process.pid, ops::Topic::kCounters)) {
    say_waiting(call, content, "/counters", process.pid);
    main += "</div>\n";
    return content;
  }
  const auto who = TRY(chosen_live(call));
  const auto now = TRY(call.services().live.counters(who, {.length = std::chrono::seconds{5}}));
  for (const auto& note : now.notes) main += notice(note, "");
  const auto told = TRY(read_json(ops::counters_json(now, false)));
  const auto* all = told.find("counters");
  if (!all || !all->array() || all->array()->empty()) {
    main += notice("No counter has told a value yet.", "They come once a second: reload.");
  } else {
    main +=
        "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Counters\">\n<table>\n"
        "<thead><tr><th scope=\"col\">Provider</th><th scope=\"col\">Counter</th><th "
        "scope=\"col\">Tags</th><th scope=\"col\" class=\"num\">Value</th><th scope=\"col\">Unit"
        "</th></tr></thead>\n<tbody>\n";
    for (const auto& one : *all->array()) {
      const auto cell = [&](std::string_view name) {
        const auto* value = one.find(name);
        return value ? cell_of(*value, Column::As::kNumber) : std::string{};
      };
      main += "<tr><td>" + cell("provider") + "</td><td>" + cell("name") + "</td><td>" +
              html_escaped(tags_of(one)) + "</td><td class=\"num\">" + cell("value") + "</td><td>" +
              cell("unit") + "</td></tr>\n";
    }
    main += "</tbody>\n</table>\n</div>\n";
  }
  main += "</div>\n";
  return content;
}

}  // namespace

extern const Page counters_page{
    .path = "/counters", .title = "Counters", .about = about, .key = 'c'};

}  // namespace clrscope::http
