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

namespace {

constexpr Option kCommon[] = {
    {.name = "--json", .help = "machine-readable answer on stdout"},
    {.name = "--verbose", .help = "say more on stderr", .letter = 'v'},
    {.name = "--help", .help = "this text", .letter = 'h'},
};

constexpr Option kTarget[] = {
    {.name = "--process-id", .value = "PID", .help = "the process", .letter = 'p'},
    {.name = "--name", .value = "NAME", .help = "the one process of that name", .letter = 'n'},
    {.name = "--diagnostic-port",
     .value = "PATH[,connect|listen]",
     .help = "a diagnostic port: connect to it, or listen for runtimes that connect",
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
