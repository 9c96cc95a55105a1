#include "cli/args.h"
#include "cli/console.h"
#include "cli/target_args.h"
#include "cli/verb.h"
#include "ops/enable.h"

namespace clrscope::cli {
namespace {

struct DisableAnswer {
  pid_t pid = 0;
  bool was_open = false;
};
const Shape& shape_of(const DisableAnswer*) {
  using A = DisableAnswer;
  static const auto shape =
      describe<A>("Disabled", "a process whose controller was closed",
                  {member<&A::pid>("pid", "process id"),
                   member<&A::was_open>("wasOpen", "whether the controller was open before")});
  return shape;
}

Result<int> run(const Args& args, Console& console) {
  const auto request = TRY(target_request(args));
  const auto disabled = TRY(ops::disable(request));
  const auto& process = disabled.process;
  if (args.has("--json")) {
    console.data(json_line(DisableAnswer{process.pid, disabled.was_open}));
    return kDone;
  }
  console.talk("{} ({}): {}", process.name, process.pid,
               disabled.was_open ? "controller stopped" : "no controller was running");
  return kDone;
}

const Options kOptions[] = {kTargetOptions, kCommonOptions};
constexpr JsonAnswer kAnswers[] = {answers_with<DisableAnswer>()};

}  // namespace

extern const Verb disable_verb{
    .name = "disable",
    .summary = "Stop the controller that enable started",
    .usage = "(-p PID | -n NAME)",
    .options = kOptions,
    .examples = "  clrscope disable -p 4312\n  clrscope disable -n Shop.Api --json",
    .run = run,
    .answers = kAnswers,
};

}  // namespace clrscope::cli
