// Two clicks to a recording: a profile and a duration; single providers folded away.
#include <fmt/format.h>

#include "base/html.h"
#include "base/text.h"
#include "export/format.h"
#include "http/markup.h"
#include "http/page.h"
#include "ops/profiles.h"

namespace clrscope::http {
namespace {

constexpr std::string_view kRuntime = "Microsoft-Windows-DotNETRuntime";

std::string profiles_html() {
  std::string out = "<fieldset><legend>What to record</legend>\n";
  out +=
      "<label><input type=\"radio\" name=\"profile\" value=\"\" checked> <b>as fits best</b> "
      "<span class=\"dim\">runtime events, and CPU samples of the kernel where they may be had"
      "</span></label>\n";
  for (const auto& profile : ops::trace_profiles())
    out += fmt::format(
        "<label><input type=\"radio\" name=\"profile\" value=\"{0}\"> <b>{0}</b> "
        "<span class=\"dim\">{1}</span></label>\n",
        html_escaped(profile.name), html_escaped(profile.summary));
  return out + "</fieldset>\n";
}

// Read by the view, which makes a choice of it, and by people without scripts.
std::string keywords_html() {
  std::string out = fmt::format(
      "<details data-keywords=\"{}\">\n<summary>Keywords of the runtime</summary>\n"
      "<p class=\"dim\">For POST /sessions: {{\"providers\": [{{\"name\": \"{}\", \"keywords\": "
      "\"0x1\", \"eventLevel\": \"Informational\"}}]}}</p>\n<ul class=\"keywords\">\n",
      kRuntime, kRuntime);
  for (const auto& keyword : ops::clr_keywords())
    out += fmt::format(
        "<li data-bits=\"0x{0:x}\"><code>{1}</code> <span class=\"dim\">0x{0:x}</span></li>\n",
        keyword.bits, html_escaped(keyword.name));
  return out + "</ul>\n</details>\n";
}

Result<PageContent> about(Call& call, const Process& process) {
  PageContent content{.title = fmt::format("Record {}", process.name)};
  std::string formats = "nettrace";
  for (const auto* format : exports::formats())
    if (format->name != "nettrace") formats += " " + std::string{format->name};
  content.main = fmt::format(
      "<h1>Record {} ({})</h1>\n<p class=\"dim\">The process is not restarted. What was lost and "
      "what it cost is told at the end.</p>\n<form class=\"record\" method=\"get\" action=\"{}\" "
      "data-view=\"record\" data-pid=\"{}\" data-formats=\"{}\"{}>\n"
      "<input type=\"hidden\" name=\"pid\" value=\"{}\">\n",
      html_escaped(process.name), process.pid, html_escaped(call.link("/trace")), process.pid,
      html_escaped(formats), has_route(call, "/flame") ? " data-viewer" : "", process.pid);
  content.main += profiles_html();
  content.main +=
      "<p class=\"bar\"><label>Seconds <input type=\"number\" name=\"durationSeconds\" value=\"5\" "
      "min=\"1\" max=\"3600\" required></label>\n<button type=\"submit\" class=\"main\">Record"
      "</button></p>\n<p class=\"dim no-script\">Without scripts the trace is downloaded when it "
      "is "
      "recorded.</p>\n" +
      keywords_html() + "</form>\n";
  return content;
}

}  // namespace

extern const Page record_page{
    .path = "/record", .title = "Record", .scope = Scope::kTrace, .about = about, .key = 'r'};

}  // namespace clrscope::http
