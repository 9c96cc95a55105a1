#include "http/page.h"

#include "base/html.h"
#include "http/answer.h"
#include "http/markup.h"
#include "http/processes.h"
#include "http/services.h"
#include "http/shell.h"

namespace clrscope::http {

#define PAGE(name) extern const Page name##_page;
#include "http/pages.inc"
#undef PAGE

std::span<const Page* const> pages() {
  static constexpr const Page* kAll[] = {
#define PAGE(name) &name##_page,
#include "http/pages.inc"
#undef PAGE
  };
  return kAll;
}

const Page* find_page(std::string_view path) {
  for (const auto* page : pages())
    if (page->path == path) return page;
  return nullptr;
}

namespace {

// The processes to choose from, each a link to this page.
std::string choices_html(const Call& call, std::string_view path,
                         const std::vector<Process>& processes) {
  std::string out = "<ul class=\"choices\">\n";
  for (const auto& process : processes)
    out += "<li>" +
           anchor(page_link(call, path, process.pid),
                  fmt::format("{} {}", process.pid, process.name)) +
           (process.reachable() ? "" : " <span class=\"dim\">not reachable</span>") + "</li>\n";
  return out + "</ul>\n";
}

struct Shown {
  int status = 200;
  PageContent content{};
};

Shown failed(const Page& page, const Error& error) {
  return {.status = status_of(error),
          .content = {.title = std::string{page.title},
                      .main = "<h1>" + html_escaped(page.title) + "</h1>\n" + trouble(error)}};
}

// Of a page about one process: that page, or what is in its way.
Shown about_process(Call& call, const Page& page, const std::vector<Process>& processes) {
  Shown shown{.content = {.title = std::string{page.title}}};
  auto& main = shown.content.main;
  main = "<h1>" + html_escaped(page.title) + "</h1>\n";
  const auto named = call.text("pid") || call.text("name") || call.text("uid");
  if (processes.empty() && !named) {
    main += notice("No .NET process runs here that may be seen.",
                   "Start one: it is listed as soon as its runtime is up. Processes of other users "
                   "are seen by root, those of other containers from the host.");
    return shown;
  }
  const auto process = call.services().processes.chosen(call);
  if (!process) {
    if (!named) {
      main += "<p>Which process?</p>\n" + choices_html(call, page.path, processes);
      return shown;
    }
    shown.status = status_of(process.error());
    main += is_no_process(process.error())
                ? notice("That process is gone, or may not be seen here.",
                         processes.empty() ? "" : "Those there are:", "trouble")
                : trouble(process.error());
    main += choices_html(call, page.path, processes);
    return shown;
  }
  // What reads the process from outside works even when its runtime does not answer.
  std::string unreachable;
  if (!process->reachable())
    unreachable = notice(fmt::format("{} ({}) cannot be reached through its diagnostic port: {}",
                                     process->name, process->pid, process->reason),
                         process->hint, "trouble");
  auto content = page.about(call, *process);
  if (!content && unreachable.empty()) return failed(page, content.error());
  if (!content) {
    main += unreachable;
    return shown;
  }
  content->main = unreachable + content->main;
  return {.content = *std::move(content)};
}

}  // namespace

HttpResponse page_answer(Call& call, const Page& page) {
  const auto processes = call.services().processes.list().value_or(std::vector<Process>{});
  Shown shown;
  if (page.about) {
    shown = about_process(call, page, processes);
  } else if (auto content = page.render(call)) {
    shown.content = *std::move(content);
  } else {
    shown = failed(page, content.error());
  }
  return html_answer(page_html(call, shown.content, processes), shown.status);
}

}  // namespace clrscope::http
