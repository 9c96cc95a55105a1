#include "base/text.h"
#include "cli/args.h"
#include "cli/console.h"
#include "cli/target_args.h"
#include "cli/verb.h"
#include "ops/agent.h"

namespace clrscope::cli {
namespace {

struct DetachAnswer {
  pid_t pid = 0;
  bool was_loaded = false;
  std::chrono::nanoseconds took{};
};
const Shape& shape_of(const DetachAnswer*) {
  using A = DetachAnswer;
  static const auto shape =
      describe<A>("Detached", "a process from which the agent was removed",
                  {member<&A::pid>("pid", "process id"),
                   member<&A::was_loaded>("wasLoaded", "whether the agent was loaded before"),
                   member<&A::took>("tookMs", "how long it took")});
  return shape;
}

Result<int> run(const Args& args, Console& console) {
  const auto request = TRY(target_request(args));
  const auto detached = TRY(ops::detach_agent(request));
  if (args.has("--json")) {
    console.data(json_line(DetachAnswer{detached.pid, detached.was_loaded, detached.took}));
    return kDone;
  }
  if (detached.was_loaded)
    console.talk("{} ({}): agent detached in {}", detached.name, detached.pid,
                 format_duration(detached.took));
  else
    console.talk("{} ({}): no agent was loaded", detached.name, detached.pid);
  return kDone;
}

const Options kOptions[] = {kTargetOptions, kCommonOptions};
constexpr JsonAnswer kAnswers[] = {answers_with<DetachAnswer>()};

}  // namespace

extern const Verb detach_verb{
    .name = "detach",
    .summary = "Remove the agent from a process",
    .usage = "(-p PID | -n NAME)",
    .options = kOptions,
    .examples = "  clrscope detach -p 4312\n  clrscope detach -n Shop.Api --json",
    .run = run,
    .answers = kAnswers,
};

}  // namespace clrscope::cli
