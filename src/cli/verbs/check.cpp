#include "ops/check.h"

#include "cli/args.h"
#include "cli/console.h"
#include "cli/target_args.h"
#include "cli/verb.h"

namespace clrscope::cli {
namespace {

Result<int> run(const Args& args, Console& console) {
  const auto wish = TRY(target_wish(args));
  const bool named = wish.pid || wish.name || wish.diagnostic_port;
  const auto report = TRY(ops::check(named ? std::optional{wish} : std::nullopt));
  console.data(args.has("--json") ? ops::to_json(report)
                                  : ops::to_text(report, [&](Tone tone, std::string_view text) {
                                      return console.paint(tone, text);
                                    }));
  return kDone;
}

const Options kOptions[] = {kTargetOptions, kCommonOptions};

}  // namespace

extern const Verb check_verb{
    .name = "check",
    .summary = "Shows which sources work here, what each verb uses, why not, and the remedy",
    .usage = "[-p PID | -n NAME | --diagnostic-port SOCKET] [--json]",
    .options = kOptions,
    .examples = "  clrscope check\n  clrscope check -p 4312",
    .run = run,
};

}  // namespace clrscope::cli
