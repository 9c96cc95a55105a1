#include "ops/processes.h"

#include <fmt/format.h>

#include "base/printable.h"
#include "base/text.h"
#include "cli/args.h"
#include "cli/console.h"
#include "cli/verb.h"

namespace clrscope::cli {
namespace {

std::string as_json(const std::vector<Process>& processes) {
  std::vector<ops::ProcessAnswer> answers;
  for (const auto& process : processes) answers.push_back(ops::answer_of(process));
  return json_line(answers);
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
    console.talk("No .NET processes found.");
    console.talk(
        "  hint: run as root to see processes of other users; use the host's pid namespace to see "
        "containers");
  } else {
    console.data(as_table(processes, console));
  }
  return kDone;
}

const Options kOptions[] = {kCommonOptions};
constexpr JsonAnswer kAnswers[] = {answers_with<ops::ProcessAnswer>(JsonAnswer::Form::kList)};

}  // namespace

extern const Verb ps_verb{
    .name = "ps",
    .summary = "List the .NET processes on this machine",
    .usage = "[--json]",
    .options = kOptions,
    .examples = "  clrscope ps\n  clrscope ps --json | jq '.[] | select(.reachable) | .pid'",
    .run = run,
    .answers = kAnswers,
};

}  // namespace clrscope::cli
