#include "http/live_page.h"

#include "base/html.h"
#include "http/markup.h"
#include "http/services.h"

namespace clrscope::http {

bool is_followed(const Call& call, pid_t pid, ops::Topic topic) {
  if (call.text("wait")) return true;
  for (const auto& one : call.services().live.status()) {
    if (one.source.pid != pid) continue;
    for (const auto& feed : one.process.feeds)
      if (feed.key.starts_with(ops::name_of(topic)) && feed.told > 0) return true;
  }
  return false;
}

void say_waiting(const Call& call, PageContent& content, std::string_view path, pid_t pid) {
  const auto again = page_link(call, path, pid, "wait=true");
  content.head = "<noscript><meta http-equiv=\"refresh\" content=\"0; url=" + html_escaped(again) +
                 "\"></noscript>\n";
  content.main +=
      "<div class=\"note\" role=\"status\">\n<p>Waiting for the first data: a session is opened in "
      "the process, and kept for some minutes after the last look.</p>\n<p class=\"hint "
      "no-script\">" +
      anchor(again, "Show it when it is there") + "</p>\n</div>\n";
}

}  // namespace clrscope::http
