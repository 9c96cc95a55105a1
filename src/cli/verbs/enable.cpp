#include "ops/enable.h"

#include "base/json.h"
#include "base/text.h"
#include "cli/args.h"
#include "cli/console.h"
#include "cli/target_args.h"
#include "cli/verb.h"

namespace clrscope::cli {
namespace {

constexpr Option kEnable[] = {
    {.name = "--urls",
     .value = "LIST",
     .help = "http://127.0.0.1:0 unless told (any free port); also unix:PATH"},
    {.name = "--read-only", .help = "look at the process, record nothing"},
};

std::string as_json(const ops::Enabled& enabled) {
  JsonWriter json;
  json.begin_object()
      .member("pid", enabled.process.pid)
      .member("already", enabled.already)
      .member("inside", enabled.inside)
      .member("controllerPid", enabled.controller);
  json.key("urls").begin_array();
  for (const auto& url : enabled.urls) json.value(url);
  json.end_array();
  if (!enabled.open.empty()) json.member("open", enabled.open);
  json.end_object();
  return std::move(json).take() + "\n";
}

Result<int> run(const Args& args, Console& console) {
  ops::EnableWish wish{.target = TRY(target_wish(args)), .read_only = args.has("--read-only")};
  for (const auto& list : args.all("--urls"))
    for (const auto url : split(list, ','))
      if (!trim(url).empty()) wish.urls.emplace_back(trim(url));
  const auto enabled = TRY(ops::enable(wish));
  if (args.has("--json")) {
    console.data(as_json(enabled));
    return kDone;
  }
  const auto& process = enabled.process;
  console.talk("{} ({}) {} {}", process.name, process.pid,
               enabled.already ? "has its controller open already," : "now has a controller,",
               enabled.inside ? "answered by the app's own web server"
                              : "a child process that listens itself");
  for (const auto& url : enabled.urls) console.talk("  {}", url);
  if (!enabled.open.empty())
    console.talk("Open in a browser, once, within 15 minutes:\n  {}", enabled.open);
  console.talk("clrscope disable -p {} closes it", process.pid);
  return kDone;
}

const Options kOptions[] = {kTargetOptions, Options{kEnable}, kCommonOptions};

}  // namespace

extern const Verb enable_verb{
    .name = "enable",
    .summary = "Opens the controller inside a running process",
    .usage = "(-p PID | -n NAME) [--urls LIST] [--read-only]",
    .options = kOptions,
    .examples =
        "  clrscope enable -p 4312\n  clrscope enable -n Shop.Api --urls "
        "http://127.0.0.1:7070,unix:/tmp/shop.sock",
    .run = run,
};

}  // namespace clrscope::cli
