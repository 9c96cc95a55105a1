#include <fmt/format.h>

#include "base/json.h"
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

std::string as_json() {
  JsonWriter json;
  json.begin_array();
  for (const auto& profile : ops::trace_profiles()) {
    json.begin_object()
        .member("name", profile.name)
        .member("summary", profile.summary)
        .key("providers")
        .begin_array();
    for (const auto& p : profile.providers) {
      json.begin_object()
          .member("name", p.name)
          .member("keywords", fmt::format("0x{:X}", p.keywords))
          .member("level", p.level);
      if (!p.arguments.empty()) json.member("arguments", p.arguments);
      json.end_object();
    }
    json.end_array()
        .member("rundownKeyword", fmt::format("0x{:X}", profile.rundown_keyword))
        .end_object();
  }
  json.end_array();
  return json.text() + "\n";
}

Result<int> run(const Args& args, Console& console) {
  if (args.has("--json")) {
    console.data(as_json());
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

}  // namespace

extern const Verb list_profiles_verb{
    .name = "list-profiles",
    .summary = "Lists the named sets of providers that collect knows",
    .usage = "[--json]",
    .options = kOptions,
    .examples = "  clrscope list-profiles\n  clrscope collect -p 4312 --profile gc-verbose",
    .run = run,
};

}  // namespace clrscope::cli
