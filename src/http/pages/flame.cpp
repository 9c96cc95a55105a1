// The viewer: the flame graph of a recording.
#include "ops/flame.h"

#include <fmt/format.h>

#include "base/html.h"
#include "base/text.h"
#include "http/markup.h"
#include "http/page.h"
#include "http/recordings.h"
#include "http/services.h"

namespace clrscope::http {
namespace {

// Speedscope takes the address of its profile after the hash.
std::string speedscope_link(const Call& call, const Recording& recording) {
  const auto profile = call.link(fmt::format("/recordings/{}?format=speedscope", recording.id));
  return call.link("/assets/speedscope/index.html") + "#profileURL=" + query_escaped(profile) +
         "&title=" + query_escaped(recording.title);
}

std::string other_forms(const Call& call, const Recording& recording) {
  const auto at = [&](std::string_view tail) {
    return call.link(fmt::format("/recordings/{}{}", recording.id, tail));
  };
  return "<p class=\"bar\">" + anchor(speedscope_link(call, recording), "Open in speedscope") +
         anchor(at("/flame.html"), "Save as one HTML file") + anchor(at(""), "Save the trace") +
         anchor(page_link(call, "/recordings"), "All recordings") + "</p>\n";
}

Result<PageContent> one(Call& call, const std::string& id) {
  const auto recording = TRY(call.services().recordings.find(id));
  const auto read = TRY(ops::read_flame(recording.path));
  PageContent content{.title = "Flame graph of " + read.title};
  content.main = fmt::format(
      "<h1>{}</h1>\n{}<div class=\"flame-page\" data-view=\"flame\" "
      "data-source=\"flame?recording={}\">\n<pre>{}</pre>\n</div>\n",
      html_escaped(content.title), other_forms(call, recording),
      html_escaped(query_escaped(recording.id)), html_escaped(ops::flame_text(read)));
  return content;
}

Result<PageContent> none(const Call& call) {
  PageContent content{.title = "Flame graph"};
  content.main =
      "<h1>Flame graph</h1>\n" +
      notice("Of which recording?", "Record a process for some seconds, or open a trace.") + "<p>" +
      anchor(page_link(call, "/recordings"), "Recordings", "button") + "</p>\n";
  return content;
}

Result<PageContent> render(Call& call) {
  if (const auto id = call.text("recording")) return one(call, *id);
  return none(call);
}

}  // namespace

extern const Page flame_page{.path = "/flame",
                             .title = "Flame graph",
                             .render = render,
                             .scope = Scope::kTrace,
                             .in_rail = false};

}  // namespace clrscope::http
