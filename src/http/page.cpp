#include "http/page.h"

#include "base/html.h"
#include "http/answer.h"

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

std::string page_html(const Call& call, const PageContent& content) {
  std::string out =
      "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>" +
      html_escaped(content.title) + " · clrscope</title>\n<link rel=\"stylesheet\" href=\"" +
      html_escaped(call.link("/assets/app.css")) + "\">\n<script type=\"module\" src=\"" +
      html_escaped(call.link("/assets/app.js")) + "\"></script>\n</head>\n<body data-base=\"" +
      html_escaped(call.admitted().base_path) + "\">\n<nav>\n<ul>\n";
  for (const auto* page : pages())
    if (page->in_rail)
      out += "<li><a href=\"" + html_escaped(call.link(page->path)) + "\"" +
             (page->path == call.admitted().route->path ? " aria-current=\"page\"" : "") + ">" +
             html_escaped(page->title) + "</a></li>\n";
  out += "</ul>\n</nav>\n<main data-view=\"" + html_escaped(content.view) + "\">\n" + content.main +
         "</main>\n</body>\n</html>\n";
  return out;
}

HttpResponse page_answer(Call& call, const Page& page) {
  const auto content = page.render(call);
  if (content) return html_answer(page_html(call, *content));
  const auto& error = content.error();
  PageContent failed{.title = std::string{page.title}};
  failed.main = "<h1>" + html_escaped(page.title) + "</h1>\n<p class=\"error\">" +
                html_escaped(error.what) + "</p>\n";
  if (!error.hint.empty())
    failed.main += "<p class=\"hint\">" + html_escaped(error.hint) + "</p>\n";
  return html_answer(page_html(call, failed), status_of(error));
}

}  // namespace clrscope::http
