#include "base/json.h"
#include "cli/args.h"
#include "cli/console.h"
#include "cli/verb.h"

namespace clrscope::cli {
namespace {

Result<int> run(const Args& args, Console& console) {
  if (args.has("--json"))
    console.data(
        JsonWriter{}.begin_object().member("version", CLRSCOPE_VERSION).end_object().text() + "\n");
  else
    console.data("clrscope " CLRSCOPE_VERSION "\n");
  return kDone;
}

const Options kOptions[] = {kCommonOptions};

}  // namespace

extern const Verb version_verb{
    .name = "version",
    .summary = "Says which clrscope this is",
    .usage = "[--json]",
    .options = kOptions,
    .examples = "  clrscope version\n  clrscope version --json",
    .run = run,
};

}  // namespace clrscope::cli
