#include "base/text.h"
#include "cli/args.h"
#include "cli/console.h"
#include "cli/target_args.h"
#include "cli/verb.h"
#include "ops/agent.h"

namespace clrscope::cli {
namespace {

struct AttachAnswer {
  ops::AgentAnswer agent{};
  bool already = false;
  std::chrono::nanoseconds took{};
};
const Shape& shape_of(const AttachAnswer*) {
  using A = AttachAnswer;
  static const auto shape =
      describe<A>("Attached", "a process into which the agent was loaded",
                  {members_of<&A::agent>(),
                   member<&A::already>("already", "whether the agent was loaded before"),
                   member<&A::took>("tookMs", "how long it took")});
  return shape;
}

Result<int> run(const Args& args, Console& console) {
  const auto request = TRY(target_request(args));
  const auto attached = TRY(ops::attach_agent(request));
  const auto& agent = attached.agent;
  if (args.has("--json")) {
    console.data(json_line(AttachAnswer{agent, attached.already, attached.took}));
    return kDone;
  }
  if (attached.already)
    console.talk("{} ({}): the agent is loaded already", agent.name, agent.pid);
  else
    console.talk("{} ({}): agent attached in {}, idle until somebody listens", agent.name,
                 agent.pid, format_duration(attached.took));
  for (const auto& missing : agent.missing) console.talk("  unavailable: {}", missing);
  return kDone;
}

const Options kOptions[] = {kTargetOptions, kCommonOptions};
constexpr JsonAnswer kAnswers[] = {answers_with<AttachAnswer>()};

}  // namespace

extern const Verb attach_verb{
    .name = "attach",
    .summary = "Load the agent into a running process",
    .usage = "(-p PID | -n NAME)",
    .options = kOptions,
    .examples = "  clrscope attach -p 4312\n  clrscope attach -n Shop.Api --json",
    .run = run,
    .answers = kAnswers,
};

}  // namespace clrscope::cli
