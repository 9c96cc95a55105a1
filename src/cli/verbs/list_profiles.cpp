#include <fmt/format.h>

#include "cli/args.h"
#include "cli/console.h"
#include "cli/verb.h"
#include "ops/profiles.h"

namespace clrscope::cli {
namespace {

std::string providers_text(const ops::TraceProfile& profile) {
  std::vector<std::string> parts;
  for (const auto& p : profile.providers)
    parts.push_back(fmt::format("{}:0x{:X}:{}", p.name, p.keywords, p.level));
  return fmt::format("{}", fmt::join(parts, ","));
}

Result<int> run(const Args& args, Console& console) {
  if (args.has("--json")) {
    console.data(json_line(ops::profile_answers()));
    return kDone;
  }
  std::string text;
  for (const auto& profile : ops::trace_profiles())
    text += fmt::format("{:28}{}\n{:28}{}\n", profile.name, profile.summary, "",
                        console.paint(Tone::kDim, "= --providers " + providers_text(profile)));
  console.data(text);
  return kDone;
}

const Options kOptions[] = {kCommonOptions};
constexpr JsonAnswer kAnswers[] = {answers_with<ops::ProfileAnswer>(JsonAnswer::Form::kList)};

}  // namespace

extern const Verb list_profiles_verb{
    .name = "list-profiles",
    .summary = "List the profiles (named sets of providers) of collect",
    .usage = "[--json]",
    .options = kOptions,
    .examples = "  clrscope list-profiles\n  clrscope collect -p 4312 --profile gc-verbose",
    .run = run,
    .answers = kAnswers,
};

}  // namespace clrscope::cli
