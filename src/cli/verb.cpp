#include "cli/verb.h"

namespace clrscope::cli {

#define VERB(name) extern const Verb name##_verb;
#include "cli/verbs.inc"
#undef VERB

std::span<const Verb* const> verbs() {
  static constexpr const Verb* kAll[] = {
#define VERB(name) &name##_verb,
#include "cli/verbs.inc"
#undef VERB
  };
  return kAll;
}

const Verb* find_verb(std::string_view name) {
  for (const auto* verb : verbs())
    if (verb->name == name || (!verb->alias.empty() && verb->alias == name)) return verb;
  return nullptr;
}

void gather_shapes(const JsonAnswer& answer, std::map<std::string_view, const Shape*>& all) {
  if (answer.value)
    clrscope::gather_shapes(answer.value(), all);
  else
    clrscope::gather_shapes(answer.shape(), all);
}

namespace {

constexpr Option kCommon[] = {
    {.name = "--json", .help = "JSON output on stdout"},
    {.name = "--json-schema", .help = "JSON schema of that output"},
    {.name = "--verbose", .help = "more detail on stderr", .letter = 'v'},
    {.name = "--help", .help = "this help", .letter = 'h'},
};

constexpr Option kTarget[] = {
    {.name = "--process-id", .value = "PID", .help = "id of the process", .letter = 'p'},
    {.name = "--name",
     .value = "NAME",
     .help = "name of the process; must match exactly one",
     .letter = 'n'},
    {.name = "--diagnostic-port",
     .value = "PATH[,connect|listen]",
     .help = "diagnostic port to connect to, or to listen on for runtimes that connect",
     .alias = "--dport"},
};

}  // namespace

const Options kCommonOptions{kCommon};
const Options kTargetOptions{kTarget};

int exit_code_of(const Error& error) {
  switch (error.code) {
    case Errc::kUsage:
      return kWrongArguments;
    case Errc::kUnsupported:
      return kNotSupportedHere;
    default:
      return kCouldNotStart;
  }
}

}  // namespace clrscope::cli
