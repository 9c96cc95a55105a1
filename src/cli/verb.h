// A verb of the command line: its name, its options and what it does. One file each in verbs/,
// listed in verbs.inc.
#pragma once

#include <map>
#include <span>
#include <string_view>

#include "base/result.h"
#include "base/shape.h"

namespace clrscope::cli {

class Args;
class Console;

struct Option {
  std::string_view name;     // "--duration"
  std::string_view value{};  // what stands for its value in --help; empty: a switch
  std::string_view help;
  char letter = 0;           // 'p' for -p
  std::string_view alias{};  // "--dport"
};

using Options = std::span<const Option>;

// What `--json` answers.
struct JsonAnswer {
  enum class Form : std::uint8_t { kObject, kList, kLines };  // kLines: one object per line

  std::string_view command{};  // "list" of `counters list`; empty: any other
  Form form = Form::kObject;
  const Shape& (*shape)() = nullptr;       // of the object, or of each; or
  const ValueShape& (*value)() = nullptr;  // one of several shapes
};
void gather_shapes(const JsonAnswer& answer, std::map<std::string_view, const Shape*>& all);

template <Described T>
constexpr JsonAnswer answers_with(JsonAnswer::Form form = JsonAnswer::Form::kObject,
                                  std::string_view command = {}) {
  return {command, form, []() -> const Shape& { return shape_of(static_cast<const T*>(nullptr)); }};
}

struct Verb {
  std::string_view name;
  std::string_view summary;  // one line, for `clrscope --help`
  std::string_view usage;    // after "clrscope NAME"
  std::span<const Options> options;
  std::string_view examples;                               // two of them, a line each
  Result<int> (*run)(const Args& args, Console& console);  // its exit code
  std::size_t positionals = 0;  // how many words without a dash it takes at most
  bool takes_command = false;   // `-- COMMAND ARGS…`
  std::string_view alias{};
  std::span<const JsonAnswer> answers{};  // of --json
};

std::span<const Verb* const> verbs();
const Verb* find_verb(std::string_view name);

// Options that many verbs share.
extern const Options kCommonOptions;  // --json, -v, --help
extern const Options kTargetOptions;  // -p, -n, --diagnostic-port

// Exit codes are a contract.
enum ExitCode : int {
  kDone = 0,
  kCouldNotStart = 1,
  kFailedWhileRunning = 2,
  kWrongArguments = 3,
  kNotSupportedHere = 4,
  kInternalError = 5,
};
int exit_code_of(const Error& error);

}  // namespace clrscope::cli
