// What every thread does right now: the text that the terminal prints, with its threads and locks
// linked.
#include "ops/stacks.h"

#include <fmt/format.h>

#include <chrono>
#include <set>

#include "base/html.h"
#include "base/text.h"
#include "http/markup.h"
#include "http/page.h"
#include "http/processes.h"
#include "http/services.h"
#include "http/stacks_markup.h"

namespace clrscope::http {
namespace {

std::string choice(std::string_view name, std::string_view value, std::string_view words,
                   bool chosen) {
  return fmt::format(
      "<label><input type=\"radio\" name=\"{}\" value=\"{}\"{} data-submits> {}</label>\n", name,
      value, chosen ? " checked" : "", words);
}

Result<PageContent> about(Call& call, const Process& process) {
  const bool merged = call.text("view") == "merged";
  const bool native = TRY(call.truth("native", false));
  ops::StacksWish wish{.target = call.services().processes.target(process)};
  wish.look.native = native;
  wish.look.lines = true;
  const auto before = std::chrono::steady_clock::now();
  const auto seen = TRY(ops::take_stacks(wish));
  const auto took = std::chrono::steady_clock::now() - before;
  const auto text = ops::stacks_text(
      seen,
      {.view = merged ? ops::StacksView::kMerged : ops::StacksView::kThreads, .native = native});
  PageContent content{.title = fmt::format("Stacks of {}", process.name)};
  content.main = fmt::format(
      "<h1>Stacks of {} ({})</h1>\n<form class=\"bar\" method=\"get\" action=\"{}\">\n"
      "<input type=\"hidden\" name=\"pid\" value=\"{}\">\n",
      html_escaped(process.name), process.pid, html_escaped(call.link("/stacks")), process.pid);
  content.main +=
      choice("view", "threads", "by thread", !merged) + choice("view", "merged", "merged", merged);
  content.main += fmt::format(
      "<label><input type=\"checkbox\" name=\"native\" value=\"true\"{} data-submits> native "
      "frames</label>\n<button type=\"submit\" data-refresh>Refresh</button>\n"
      "<button type=\"button\" class=\"script\" data-copy=\"#stacks\">Copy</button>\n</form>\n",
      native ? " checked" : "");
  content.main +=
      fmt::format("<p class=\"dim\">{} threads · paused for {} · taken in {}</p>\n",
                  seen.threads.size(), format_duration(seen.pause), format_duration(took));
  content.main += "<pre id=\"stacks\" class=\"stacks\" tabindex=\"0\" data-view=\"stacks\">" +
                  stacks_markup(text) + "</pre>\n";
  return content;
}

}  // namespace

extern const Page stacks_page{.path = "/stacks", .title = "Stacks", .about = about, .key = 's'};

}  // namespace clrscope::http
