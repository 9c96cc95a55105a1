#include "cli/args.h"
#include "cli/console.h"
#include "cli/verb.h"

namespace clrscope::cli {
namespace {

struct VersionAnswer {
  std::string_view version = CLRSCOPE_VERSION;
};
const Shape& shape_of(const VersionAnswer*) {
  static const auto shape =
      describe<VersionAnswer>("Version", "version of this program",
                              {member<&VersionAnswer::version>("version", "version of clrscope")});
  return shape;
}

Result<int> run(const Args& args, Console& console) {
  console.data(args.has("--json") ? json_line(VersionAnswer{}) : "clrscope " CLRSCOPE_VERSION "\n");
  return kDone;
}

const Options kOptions[] = {kCommonOptions};
constexpr JsonAnswer kAnswers[] = {answers_with<VersionAnswer>()};

}  // namespace

extern const Verb version_verb{
    .name = "version",
    .summary = "Print the version",
    .usage = "[--json]",
    .options = kOptions,
    .examples = "  clrscope version\n  clrscope version --json",
    .run = run,
    .answers = kAnswers,
};

}  // namespace clrscope::cli
