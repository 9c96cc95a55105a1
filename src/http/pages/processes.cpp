#include "http/processes.h"

#include "base/html.h"
#include "http/page.h"
#include "http/services.h"

namespace clrscope::http {
namespace {

Result<PageContent> render(Call& call) {
  PageContent content{.title = "Processes", .view = "processes"};
  content.main = "<h1>Processes</h1>\n<table>\n";
  for (const auto& process : TRY(call.services().processes.list()))
    content.main += "<tr><td>" + std::to_string(process.pid) + "</td><td>" +
                    html_escaped(process.name) + "</td><td>" + html_escaped(process.runtime) +
                    "</td></tr>\n";
  content.main += "</table>\n";
  return content;
}

}  // namespace

extern const Page processes_page{.path = "/processes", .title = "Processes", .render = render};

}  // namespace clrscope::http
