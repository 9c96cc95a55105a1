#include "base/json.h"
#include "cli/args.h"
#include "cli/console.h"
#include "cli/target_args.h"
#include "cli/verb.h"
#include "ops/enable.h"

namespace clrscope::cli {
namespace {

Result<int> run(const Args& args, Console& console) {
  const auto wish = TRY(target_wish(args));
  const auto disabled = TRY(ops::disable(wish));
  const auto& process = disabled.process;
  if (args.has("--json")) {
    JsonWriter json;
    json.begin_object()
        .member("pid", process.pid)
        .member("wasOpen", disabled.was_open)
        .end_object();
    console.data(std::move(json).take() + "\n");
    return kDone;
  }
  console.talk("{} ({}): {}", process.name, process.pid,
               disabled.was_open ? "closed" : "nothing was open");
  return kDone;
}

const Options kOptions[] = {kTargetOptions, kCommonOptions};

}  // namespace

extern const Verb disable_verb{
    .name = "disable",
    .summary = "Closes what enable opened",
    .usage = "(-p PID | -n NAME)",
    .options = kOptions,
    .examples = "  clrscope disable -p 4312\n  clrscope disable -n Shop.Api --json",
    .run = run,
};

}  // namespace clrscope::cli
