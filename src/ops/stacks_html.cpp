#include <fmt/format.h>

#include "base/html.h"
#include "base/text.h"
#include "ops/stacks.h"

namespace clrscope::ops {
namespace {

using namespace inspect;

constexpr std::string_view kHead = R"(<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<style>
:root{color-scheme:light dark;--dim:#6b7280;--harm:#c0262d;--line:#d7dbe0;--framework:#4b5b8c}
@media(prefers-color-scheme:dark){:root{--dim:#9aa3af;--harm:#ff6b6b;--line:#3a3f47;--framework:#9fb2ea}}
body{font:14px/1.5 system-ui,sans-serif;margin:2rem auto;max-width:72rem;padding:0 1rem}
h1{font-size:1.3rem}h2{font-size:1rem;color:var(--harm)}
details{border-top:1px solid var(--line);padding:.4rem 0}summary{cursor:pointer}
ol{list-style:none;margin:.3rem 0;padding-left:1.2rem;font:13px/1.45 ui-monospace,monospace}
li{overflow-wrap:anywhere}.dim{color:var(--dim)}.framework{color:var(--framework)}
.native,.runtime,.stub{color:var(--dim)}.wait{margin-left:1.2rem}
:target{outline:2px solid currentColor}
</style>
)";

std::string link_to(const Snapshot& seen, std::uint32_t os_id) {
  const auto* thread = find_thread(seen, os_id);
  return thread ? fmt::format("<a href=\"#t{}\">{}</a>", os_id, html_escaped(title_of(*thread)))
                : fmt::format("thread {}", os_id);
}

std::string frame_html(const Frame& frame) {
  const auto name = frame.method.empty() ? fmt::format("{:#x}", frame.pc) : frame.method;
  auto text =
      fmt::format("<li class=\"{}\">{}!{}", name_of(frame.kind),
                  html_escaped(frame.module.empty() ? "?" : frame.module), html_escaped(name));
  if (!frame.file.empty())
    text += fmt::format(" <span class=\"dim\">{}:{}</span>", html_escaped(frame.file), frame.line);
  return text + "</li>\n";
}

std::string thread_html(const Snapshot& seen, const ThreadView& thread, const StacksStyle& style) {
  auto text = fmt::format("<details id=\"t{}\"{}><summary>{} <span class=\"dim\">", thread.os_id(),
                          thread.runtime ? " open" : "", html_escaped(title_of(thread)));
  if (thread.runtime) text += fmt::format("managed {} · ", thread.runtime->managed_id);
  text += fmt::format("{} · CPU {}</span></summary>\n", state_text(thread),
                      format_duration(thread.os.cpu));
  if (const auto wait = wait_text(seen, thread); !wait.empty()) {
    text += fmt::format("<div class=\"wait\">{}", html_escaped(wait));
    if (thread.waiting_for->owner_os_id != 0)
      text += " · " + link_to(seen, thread.waiting_for->owner_os_id);
    text += "</div>\n";
  }
  text += "<ol>\n";
  bool in_native = false;
  for (const auto& frame : thread.frames) {
    const bool managed = frame.kind == FrameKind::kManaged || frame.kind == FrameKind::kFramework;
    const bool named = managed || style.native;
    if (named)
      text += frame_html(frame);
    else if (!in_native)
      text += "<li class=\"native\">[Native Frames]</li>\n";
    in_native = !named;
  }
  if (!thread.broken.empty())
    text +=
        fmt::format("<li class=\"dim\">[stack ends here: {}]</li>\n", html_escaped(thread.broken));
  return text + "</ol></details>\n";
}

}  // namespace

std::string stacks_html(const Snapshot& seen, const StacksStyle& style) {
  const auto title = html_escaped(fmt::format("Stacks of {} ({})", seen.name, seen.pid));
  auto text = fmt::format("{}<title>{}</title></head><body>\n<h1>{}</h1>\n<p class=\"dim\">", kHead,
                          title, title);
  if (!seen.runtime.empty()) text += fmt::format(".NET {} · ", html_escaped(seen.runtime));
  text += fmt::format("{} threads", seen.threads.size());
  if (seen.target == TargetKind::kLive)
    text += fmt::format(" · paused for {}", format_duration(seen.pause));
  text += "</p>\n";
  for (const auto& note : seen.notes)
    text += fmt::format("<p class=\"dim\">{}</p>\n", html_escaped(note));
  for (const auto& cycle : seen.cycles) {
    text += cycle.size() == 1
                ? std::string{"<h2>Deadlock: a thread waits for itself</h2>\n<ul>\n"}
                : fmt::format("<h2>Deadlock: {} threads wait for each other</h2>\n<ul>\n",
                              cycle.size());
    for (const auto id : cycle)
      if (const auto* thread = find_thread(seen, id))
        text += fmt::format("<li>{} {}</li>\n", link_to(seen, id),
                            html_escaped(wait_text(seen, *thread)));
    text += "</ul>\n";
  }
  for (const auto& thread : seen.threads) text += thread_html(seen, thread, style);
  return text + "</body></html>\n";
}

}  // namespace clrscope::ops
