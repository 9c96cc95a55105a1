#include "ops/enable.h"

#include "base/text.h"
#include "cli/args.h"
#include "cli/console.h"
#include "cli/target_args.h"
#include "cli/verb.h"

namespace clrscope::cli {
namespace {

constexpr Option kEnable[] = {
    {.name = "--urls",
     .value = "LIST",
     .help = "addresses: http://… on loopback or unix:PATH (default: http://127.0.0.1:0, any free "
             "port)"},
    {.name = "--read-only", .help = "no recordings, dumps or other changes"},
};

struct EnableAnswer {
  pid_t pid = 0;
  bool already = false;
  bool inside = false;
  pid_t controller = 0;
  std::vector<std::string> urls{};
  std::optional<std::string> open{};
};
const Shape& shape_of(const EnableAnswer*) {
  using A = EnableAnswer;
  static const auto shape =
      describe<A>("Enabled", "the controller of a process",
                  {member<&A::pid>("pid", "process id"),
                   member<&A::already>("already", "whether the controller was open before"),
                   member<&A::inside>("inside", "whether the app's own web server listens for it"),
                   member<&A::controller>("controllerPid",
                                          "process id of the controller, as the process sees it"),
                   member<&A::urls>("urls", "addresses it listens on"),
                   member<&A::open>("open", "one-time address for a browser")});
  return shape;
}

std::string as_json(const ops::Enabled& enabled) {
  return json_line(EnableAnswer{.pid = enabled.process.pid,
                                .already = enabled.already,
                                .inside = enabled.inside,
                                .controller = enabled.controller,
                                .urls = enabled.urls,
                                .open = unless_empty(enabled.open)});
}

Result<int> run(const Args& args, Console& console) {
  ops::EnableRequest request{.target = TRY(target_request(args)),
                             .read_only = args.has("--read-only")};
  for (const auto& list : args.all("--urls"))
    for (const auto url : split(list, ','))
      if (!trim(url).empty()) request.urls.emplace_back(trim(url));
  const auto enabled = TRY(ops::enable(request));
  if (args.has("--json")) {
    console.data(as_json(enabled));
    return kDone;
  }
  const auto& process = enabled.process;
  console.talk("{} ({}) {} {}", process.name, process.pid,
               enabled.already ? "already has a controller," : "now has a controller,",
               enabled.inside ? "served by the app's own web server" : "served by a child process");
  for (const auto& url : enabled.urls) console.talk("  {}", url);
  if (!enabled.open.empty())
    console.talk("Open in a browser (works once, for 15 minutes):\n  {}", enabled.open);
  console.talk("Run clrscope disable -p {} to close it.", process.pid);
  return kDone;
}

const Options kOptions[] = {kTargetOptions, Options{kEnable}, kCommonOptions};
constexpr JsonAnswer kAnswers[] = {answers_with<EnableAnswer>()};

}  // namespace

extern const Verb enable_verb{
    .name = "enable",
    .summary = "Start the controller inside a running process",
    .usage = "(-p PID | -n NAME) [--urls LIST] [--read-only]",
    .options = kOptions,
    .examples =
        "  clrscope enable -p 4312\n  clrscope enable -n Shop.Api --urls "
        "http://127.0.0.1:7070,unix:/tmp/shop.sock",
    .run = run,
    .answers = kAnswers,
};

}  // namespace clrscope::cli
