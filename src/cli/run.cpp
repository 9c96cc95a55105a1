#include "cli/run.h"

#include "base/log.h"
#include "base/text.h"
#include "cli/args.h"
#include "cli/console.h"
#include "cli/json_schema.h"
#include "cli/verb.h"

namespace clrscope::cli {
namespace {

bool asks_for_help(std::string_view word) {
  return word == "--help" || word == "-h" || word == "-?" || word == "help";
}

Error unknown_verb(std::string_view word) {
  std::vector<std::string_view> names;
  for (const auto* verb : verbs()) names.push_back(verb->name);
  Error error{Errc::kUsage, fmt::format("unknown verb '{}'", word),
              "run clrscope --help to list the verbs"};
  if (const auto meant = nearest(word, names))
    error.hint = fmt::format("did you mean clrscope {}?", *meant);
  return error;
}

int report(const Error& error) {
  log_error(error);
  return exit_code_of(error);
}

}  // namespace

int run(std::span<const std::string_view> words) {
  Console console;
  if (words.empty() || asks_for_help(words[0])) {
    console.data(help_text());
    return words.empty() ? kWrongArguments : kDone;
  }
  const auto* verb = find_verb(words[0] == "--version" ? "version" : words[0]);
  if (!verb) return report(unknown_verb(words[0]));
  const auto args = Args::parse(*verb, words.subspan(1));
  if (!args) return report(args.error());
  if (args->has("--help")) {
    console.data(help_text(*verb));
    return kDone;
  }
  if (args->has("--json-schema")) {
    console.data(json_schema(*verb));
    return kDone;
  }
  if (args->has("--verbose")) set_log_level(LogLevel::kDebug);
  const auto code = verb->run(*args, console);
  console.end_progress();
  return code ? *code : report(code.error());
}

}  // namespace clrscope::cli
