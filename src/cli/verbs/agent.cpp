#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>

#include <filesystem>

#include "base/io.h"
#include "base/text.h"
#include "cli/args.h"
#include "cli/console.h"
#include "cli/stop_request.h"
#include "cli/target_args.h"
#include "cli/verb.h"
#include "ops/agent.h"
#include "ops/agent_heap.h"
#include "ops/agent_methods.h"
#include "ops/agent_objects.h"
#include "ops/agent_runtime.h"
#include "ops/agent_sources.h"
#include "ops/agent_wall.h"

namespace clrscope::cli {
namespace {

constexpr Option kAgent[] = {
    {.name = "--duration",
     .value = "TIME",
     .help = "how long to listen (default: 10s; 30s for survivors; as long as COMMAND runs)"},
    {.name = "--include",
     .value = "PATTERN",
     .help = "methods to measure: a namespace, type or method, * matches any text; or "
             "'[ATTRIBUTE]'; repeatable"},
    {.name = "--exclude", .value = "PATTERN", .help = "methods not to measure; repeatable"},
    {.name = "--min-il", .value = "BYTES", .help = "smallest IL size to measure (default: 0)"},
    {.name = "--accessors", .help = "measure trivial getters and setters too"},
    {.name = "--closed", .help = "put the probes in and count nothing, to see what that costs"},
    {.name = "--method-budget",
     .value = "PERCENT",
     .help = "of one processor for the probes of one method; 0: no limit (default: 2)"},
    {.name = "--rate",
     .value = "HZ",
     .help = "snapshots per second for wall, 1 to 10 (default: 10)"},
    {.name = "--references", .help = "heap: which types refer to which (.NET 9 and later)"},
    {.name = "--moved", .help = "objects: memory that collections move"},
    {.name = "--transitions", .help = "objects: calls between managed and native code, by method"},
    {.name = "--max-pause",
     .value = "TIME",
     .help = "heap: longest expected pause that is permitted (default: 2s)"},
    {.name = "--number", .value = "N", .help = "heap: number of types shown (default: 30)"},
    {.name = "--output",
     .value = "FILE",
     .help = "where env writes the library (default: libclrscope_agent.so)",
     .letter = 'o'},
};

Result<int> status(const Args& args, Console& console) {
  std::vector<ops::AgentAnswer> agents;
  if (args.has("--process-id") || args.has("--name")) {
    const auto request = TRY(target_request(args));
    agents.push_back(TRY(ops::agent_status(request)));
  } else {
    agents = TRY(ops::agents_loaded());
  }
  if (args.has("--json")) {
    console.data(json_line(agents));
    return kDone;
  }
  if (agents.empty()) {
    console.talk("No process has the agent loaded. Run clrscope attach -p PID to load it.");
    return kDone;
  }
  Table table{{"PID", "NAME", "AGENT", "IDENTITY", "RUNTIME", "SOURCES"}};
  for (const auto& agent : agents) {
    std::string sources;
    for (const auto& source : agent.sources)
      sources.append(sources.empty() ? "" : ",").append(source);
    table.add({std::to_string(agent.pid), agent.name, agent.loaded ? agent.mode : "not loaded",
               agent.identity, agent.runtime, agent.loaded && sources.empty() ? "idle" : sources});
  }
  console.data(table.text());
  return kDone;
}

Result<int> list(const Args& args, Console& console) {
  const auto sources = ops::agent_source_answers();
  if (args.has("--json")) {
    console.data(json_line(sources));
    return kDone;
  }
  std::string text;
  for (const auto& source : sources) {
    text += fmt::format("{:14}{}\n", source.id, source.description);
    text += fmt::format("{:14}{}\n", "",
                        console.paint(Tone::kDim, fmt::format("needs {}", source.flags)));
    if (!source.limits.empty()) text += fmt::format("{:14}{}\n", "", source.limits);
  }
  console.data(text);
  return kDone;
}

// A command that is still running when the time is over goes on without us only if it insists.
int end_command(ops::Child& child, const StopRequest& stop, bool limited, Console& console) {
  constexpr std::chrono::seconds kGrace{10};
  const bool by_user = stop.signal() != 0;
  auto code = child.wait(by_user || limited ? std::chrono::nanoseconds{0} : kGrace);
  if (code) return *code;
  if (by_user && !stop.from_terminal()) child.signal(stop.signal());
  if (!by_user) child.signal(SIGTERM);
  code = child.wait(kGrace);
  if (!code) console.talk("Process {} is still running.", child.pid());
  return by_user ? code.value_or(kDone) : kDone;
}

// Listens for the duration and prints what was heard. `hear` takes a ListenRequest.
template <class Hear, class Seen>
Result<int> listen(const Args& args, Console& console, Hear&& hear,
                   Document (*document)(const Seen&), std::chrono::seconds usual) {
  const auto limit = TRY(args.duration("--duration"));
  if (limit && limit->count() <= 0)
    return fail(Errc::kUsage, "--duration must be greater than zero");
  const bool starts = !args.command().empty();
  constexpr std::chrono::hours kForever{24 * 365};
  const std::chrono::nanoseconds otherwise =
      starts ? std::chrono::nanoseconds{kForever} : std::chrono::nanoseconds{usual};
  const StopRequest stop{starts ? EnterKey::kIgnored : EnterKey::kStops};
  std::unique_ptr<ops::Child> child;
  const ops::ListenRequest request{.target = TRY(target_request(args)),
                                   .duration = limit.value_or(otherwise),
                                   .stop_fds = stop.fds(),
                                   .child = &child};
  const Result<Seen> seen = hear(request);
  const auto code = child ? end_command(*child, stop, limit.has_value(), console) : kDone;
  if (!seen) return fail(seen.error());
  if (args.has("--json"))
    console.data(json_line(*seen));
  else
    console.data(answer::page_text(document(*seen), console.text_style()));
  return code;
}

Result<int> methods(const Args& args, Console& console) {
  const auto duration =
      TRY(args.duration("--duration")).value_or(std::chrono::nanoseconds{std::chrono::seconds{10}});
  if (duration.count() <= 0) return fail(Errc::kUsage, "--duration must be greater than zero");
  constexpr std::uint64_t kMostPercent = 100;
  const StopRequest stop{EnterKey::kStops};
  ops::MethodsRequest request{
      .listen = {.target = TRY(target_request(args)), .duration = duration, .stop_fds = stop.fds()},
      .include = args.all("--include"),
      .exclude = args.all("--exclude"),
      .with_accessors = args.has("--accessors"),
      .closed = args.has("--closed")};
  request.smallest_il =
      static_cast<std::uint32_t>(TRY(args.number("--min-il", 0, 1 << 20)).value_or(0));
  if (const auto share = TRY(args.number("--method-budget", 0, kMostPercent)))
    request.share_percent = static_cast<double>(*share);
  const auto seen = TRY(ops::agent_methods(request));
  if (args.has("--json"))
    console.data(json_line(seen));
  else
    console.data(answer::page_text(ops::methods_document(seen), console.text_style()));
  return kDone;
}

// The price is said before the command starts: nothing can make it less afterwards.
Result<int> objects(const Args& args, Console& console) {
  if (!args.command().empty())
    console.talk(
        "Every object will be counted: an allocation takes about 60 ns longer (20 ns without, 70 "
        "to "
        "80 ns with it; more where threads allocate objects of one type at the same time){}{}",
        args.has("--moved") ? "; there are no background collections" : "",
        args.has("--transitions") ? "; calls to native code become slower too" : "");
  const auto hear = [&](const ops::ListenRequest& request) {
    return ops::agent_objects({.listen = request,
                               .moved = args.has("--moved"),
                               .transitions = args.has("--transitions")});
  };
  return listen(args, console, hear, &ops::objects_document, std::chrono::seconds{10});
}

Result<int> wall(const Args& args, Console& console) {
  const auto duration =
      TRY(args.duration("--duration")).value_or(std::chrono::nanoseconds{std::chrono::seconds{10}});
  if (duration.count() <= 0) return fail(Errc::kUsage, "--duration must be greater than zero");
  const StopRequest stop{EnterKey::kStops};
  const ops::WallRequest request{
      .listen = {.target = TRY(target_request(args)), .duration = duration, .stop_fds = stop.fds()},
      .rate = static_cast<unsigned>(TRY(args.number("--rate", 1, 10)).value_or(10))};
  const auto seen = TRY(ops::agent_wall(request));
  if (args.has("--json"))
    console.data(json_line(seen));
  else
    console.data(answer::page_text(ops::wall_document(seen), console.text_style()));
  return kDone;
}

Result<int> stacks(const Args& args, Console& console) {
  const auto request = TRY(target_request(args));
  const auto seen = TRY(ops::agent_stacks(request));
  if (args.has("--json"))
    console.data(json_line(seen));
  else
    console.data(answer::page_text(ops::agent_stacks_document(seen), console.text_style()));
  return kDone;
}

Result<int> heap(const Args& args, Console& console) {
  ops::AgentHeapRequest request{.target = TRY(target_request(args)),
                                .references = args.has("--references")};
  request.longest_pause = TRY(args.duration("--max-pause")).value_or(request.longest_pause);
  const auto rows = TRY(args.number("--number", 1, 100'000)).value_or(30);
  request.on_price = [&](const ops::AgentHeapPrice& price) {
    console.talk("The heap has at most {}: the process will be paused for about {}{}",
                 format_bytes(price.bytes), format_duration(price.pause),
                 price.by_events ? ", with a full garbage collection" : "");
  };
  const auto seen = TRY(ops::agent_heap(request));
  if (args.has("--json"))
    console.data(json_line(seen));
  else
    console.data(answer::page_text(ops::agent_heap_document(seen, rows), console.text_style()));
  return kDone;
}

struct EnvAnswer {
  std::string file{};
  std::map<std::string, std::string> variables{};
};
const Shape& shape_of(const EnvAnswer*) {
  using A = EnvAnswer;
  static const auto shape =
      describe<A>("AgentEnvironment", "how to load the agent when a process starts",
                  {member<&A::file>("file", "the library"),
                   member<&A::variables>("variables", "environment variables for the process")});
  return shape;
}

Result<int> env(const Args& args, Console& console) {
  const auto library = ops::embedded_agent();
  if (library.empty()) return fail(Errc::kUnsupported, "this clrscope was built without the agent");
  const auto path =
      std::filesystem::absolute(args.text("--output").value_or("libclrscope_agent.so"))
          .lexically_normal()
          .string();
  const UniqueFd file{::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644)};
  if (!file) return fail(errc_of(errno), "cannot write {}: {}", path, errno_text());
  TRY(write_all(file.get(), library));
  EnvAnswer answer{.file = path, .variables = ops::agent_environment(path)};
  if (args.has("--json")) {
    console.data(json_line(answer));
    return kDone;
  }
  std::string lines;
  for (const auto& [name, value] : answer.variables) lines += fmt::format("{}={}\n", name, value);
  console.data(lines);
  return kDone;
}

Result<int> run(const Args& args, Console& console) {
  const auto& words = args.positionals();
  const std::string word = words.size() == 1 ? words[0] : "";
  if (word == "status") return status(args, console);
  if (word == "list") return list(args, console);
  const auto usual = [&] {
    for (const auto& source : ops::agent_sources())
      if (source.id == word) return source.duration;
    return std::chrono::seconds{10};
  }();
  if (word == "exceptions")
    return listen(args, console, &ops::agent_exceptions, &ops::exceptions_document, usual);
  if (word == "contention")
    return listen(args, console, &ops::agent_contention, &ops::contention_document, usual);
  if (word == "allocations")
    return listen(args, console, &ops::agent_allocations, &ops::allocations_document, usual);
  if (word == "survivors")
    return listen(args, console, &ops::agent_survivors, &ops::survivors_document, usual);
  if (word == "runtime")
    return listen(args, console, &ops::agent_runtime, &ops::runtime_document, usual);
  if (word == "objects") return objects(args, console);
  if (!args.command().empty())
    return fail(Errc::kUsage, "agent {} does not start a command", word)
        .hint(
            "use exceptions, contention, allocations, survivors, runtime or objects with -- "
            "COMMAND");
  if (word == "methods") return methods(args, console);
  if (word == "wall") return wall(args, console);
  if (word == "stacks") return stacks(args, console);
  if (word == "heap") return heap(args, console);
  if (word == "env") return env(args, console);
  return fail(Errc::kUsage, "unknown command of clrscope agent")
      .hint(
          "use status, list, exceptions, contention, allocations, survivors, runtime, objects, "
          "methods, "
          "wall, stacks, heap or env");
}

const Options kOptions[] = {kTargetOptions, Options{kAgent}, kCommonOptions};
constexpr JsonAnswer kAnswers[] = {
    answers_with<ops::AgentAnswer>(JsonAnswer::Form::kList, "status"),
    answers_with<ops::AgentSourceAnswer>(JsonAnswer::Form::kList, "list"),
    answers_with<ops::AgentExceptions>(JsonAnswer::Form::kObject, "exceptions"),
    answers_with<ops::AgentContention>(JsonAnswer::Form::kObject, "contention"),
    answers_with<ops::AgentAllocations>(JsonAnswer::Form::kObject, "allocations"),
    answers_with<ops::AgentMethods>(JsonAnswer::Form::kObject, "methods"),
    answers_with<ops::AgentWall>(JsonAnswer::Form::kObject, "wall"),
    answers_with<ops::AgentSurvivors>(JsonAnswer::Form::kObject, "survivors"),
    answers_with<ops::AgentRuntime>(JsonAnswer::Form::kObject, "runtime"),
    answers_with<ops::AgentStacks>(JsonAnswer::Form::kObject, "stacks"),
    answers_with<ops::AgentObjects>(JsonAnswer::Form::kObject, "objects"),
    answers_with<ops::AgentHeap>(JsonAnswer::Form::kObject, "heap"),
    answers_with<EnvAnswer>(JsonAnswer::Form::kObject, "env"),
};

}  // namespace

extern const Verb agent_verb{
    .name = "agent",
    .summary = "Show exceptions, lock waits, allocations, method times and stacks from inside",
    .usage =
        "status | list | exceptions | contention | allocations | survivors | runtime | objects |\n"
        "                      methods | wall | stacks | heap | env\n"
        "                      [-p PID | -n NAME | -- COMMAND ARGS…] [options]",
    .options = kOptions,
    .examples =
        "  clrscope agent methods -p 4312 --include 'Shop.*' --exclude Shop.Logging\n"
        "  clrscope agent allocations -- dotnet Shop.dll",
    .run = run,
    .positionals = 1,
    .takes_command = true,
    .answers = kAnswers,
};

}  // namespace clrscope::cli
