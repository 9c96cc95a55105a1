#include "ops/processes.h"

#include <fmt/format.h>

#include "base/json.h"
#include "base/printable.h"
#include "base/text.h"
#include "cli/args.h"
#include "cli/console.h"
#include "cli/verb.h"

namespace clrscope::cli {
namespace {

std::string as_json(const std::vector<Process>& processes) {
  JsonWriter json;
  json.begin_array();
  for (const auto& p : processes) {
    json.begin_object()
        .member("pid", p.pid)
        .member("name", p.name)
        .member("user", p.user)
        .member("runtime", p.runtime);
    json.member("architecture", p.architecture)
        .member("commandLine", p.command_line)
        .member("reachable", p.reachable());
    if (!p.reachable()) json.member("reason", p.reason).member("hint", p.hint);
    json.member("upSeconds", std::chrono::duration<double>(p.up).count());
    if (p.cpu_percent) json.member("cpuPercent", *p.cpu_percent);
    if (p.rss_bytes) json.member("rssBytes", *p.rss_bytes);
    if (!p.container.empty()) json.member("container", p.container);
    json.end_object();
  }
  json.end_array();
  return json.text() + "\n";
}

std::string as_table(const std::vector<Process>& processes, const Console& console) {
  Table table{{">PID", "NAME", "USER", "RUNTIME", ">UP", ">CPU", ">RSS", "WHERE", "COMMAND"}};
  for (const auto& p : processes) {
    const auto up = std::chrono::duration_cast<std::chrono::seconds>(p.up);
    table.add(
        {fmt::format("{}", p.pid), p.name, p.user,
         fmt::format("{}{}", p.runtime.empty() ? "?" : p.runtime,
                     p.architecture.empty() || p.architecture == "x64" ? "" : " " + p.architecture),
         format_uptime(up), p.cpu_percent ? fmt::format("{:.0f}%", *p.cpu_percent) : "?",
         p.rss_bytes ? format_bytes(*p.rss_bytes) : "?",
         p.container.empty() ? "" : fmt::format("{} (container)", p.container),
         cut_to_width(printable(p.command_line), 60)});
  }
  // Why one cannot be reached stands below its row, so that the columns stay narrow.
  const auto rows = table.text();
  const auto lines = split(rows, '\n');
  std::string text{lines[0]};
  for (std::size_t i = 0; i < processes.size(); ++i) {
    text += fmt::format("\n{}", lines[i + 1]);
    if (processes[i].reachable()) continue;
    text += fmt::format(
        "\n       {}",
        console.paint(Tone::kWarning, "not reachable: " + printable(processes[i].reason)));
    if (!processes[i].hint.empty())
      text += fmt::format("\n       {}",
                          console.paint(Tone::kDim, "hint: " + printable(processes[i].hint)));
  }
  return text + "\n";
}

Result<int> run(const Args& args, Console& console) {
  const auto processes = TRY(ops::list_processes());
  if (args.has("--json")) {
    console.data(as_json(processes));
  } else if (processes.empty()) {
    console.talk("No .NET process here that you can see.");
    console.talk(
        "  hint: other users' processes need root; those in other containers need the host's pid "
        "namespace");
  } else {
    console.data(as_table(processes, console));
  }
  return kDone;
}

const Options kOptions[] = {kCommonOptions};

}  // namespace

extern const Verb ps_verb{
    .name = "ps",
    .summary = "Lists the .NET processes of this machine",
    .usage = "[--json]",
    .options = kOptions,
    .examples = "  clrscope ps\n  clrscope ps --json | jq '.[] | select(.reachable) | .pid'",
    .run = run,
};

}  // namespace clrscope::cli
