#include "ops/check.h"

#include "answer/text.h"
#include "cli/args.h"
#include "cli/console.h"
#include "cli/target_args.h"
#include "cli/verb.h"

namespace clrscope::cli {
namespace {

Result<int> run(const Args& args, Console& console) {
  const auto request = TRY(target_request(args));
  const bool named = request.pid || request.name || request.diagnostic_port;
  const auto report = TRY(ops::check(named ? std::optional{request} : std::nullopt));
  console.data(args.has("--json")
                   ? json_line(answer_of(report))
                   : answer::page_text(check_document(report), console.text_style()));
  return kDone;
}

const Options kOptions[] = {kTargetOptions, kCommonOptions};

constexpr JsonAnswer kAnswers[] = {answers_with<ops::CheckAnswer>()};

}  // namespace

extern const Verb check_verb{
    .name = "check",
    .summary =
        "Show which data sources work here, which verbs use them, and how to fix those that do not",
    .usage = "[-p PID | -n NAME | --diagnostic-port SOCKET] [--json]",
    .options = kOptions,
    .examples = "  clrscope check\n  clrscope check -p 4312",
    .run = run,
    .answers = kAnswers,
};

}  // namespace clrscope::cli
