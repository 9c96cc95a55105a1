// The agent in a process: loads and removes it, switches its sources, tells what they saw.
#include "ops/agent.h"

#include "base/text.h"
#include "http/processes.h"
#include "http/route.h"
#include "http/services.h"
#include "live/agents.h"
#include "ops/agent_heap.h"
#include "ops/agent_methods.h"
#include "ops/agent_runtime.h"
#include "ops/agent_sources.h"
#include "site/answer.h"

namespace clrscope::http {
namespace {

constexpr std::int64_t kLongest = 600;  // seconds

struct AgentPage {
  ops::AgentAnswer agent{};
  std::optional<live::AgentSeen> seen{};
};
const Shape& shape_of(const AgentPage*) {
  using A = AgentPage;
  static const auto shape = describe<A>(
      "AgentPage", "the agent in a process and what it has told this server",
      {member<&A::agent>("agent", "the agent"),
       member<&A::seen>("seen", "what sources that this server switched on have told")});
  return shape;
}

struct AgentLeft {
  pid_t pid = 0;
  bool was_loaded = false;
  std::chrono::nanoseconds took{};
};
const Shape& shape_of(const AgentLeft*) {
  using A = AgentLeft;
  static const auto shape =
      describe<A>("AgentLeft", "a process from which the agent was removed",
                  {member<&A::pid>("pid", "process id"),
                   member<&A::was_loaded>("wasLoaded", "whether the agent was loaded"),
                   member<&A::took>("tookMs", "how long it took")});
  return shape;
}

Result<HttpResponse> page_of(Call& call, const Process& process) {
  AgentPage page{.agent = TRY(ops::agent_status(call.services().processes.target(process)))};
  page.seen = call.services().agents.seen(process.pid);
  return answer_with(page);
}

Result<HttpResponse> status(Call& call) {
  const auto process = TRY(call.services().processes.chosen(call));
  call.note_repeated();  // a page asks again and again
  return page_of(call, process);
}

Result<HttpResponse> attach(Call& call) {
  const auto process = TRY(call.services().processes.chosen(call));
  (void)TRY(ops::attach_agent(call.services().processes.target(process)));
  return page_of(call, process);
}

Result<HttpResponse> detach(Call& call) {
  const auto process = TRY(call.services().processes.chosen(call));
  call.services().agents.forget(process.pid);
  const auto left = TRY(ops::detach_agent(call.services().processes.target(process)));
  return answer_with(AgentLeft{left.pid, left.was_loaded, left.took});
}

Result<HttpResponse> switch_sources(Call& call) {
  const auto process = TRY(call.services().processes.chosen(call));
  const auto sources = TRY(ops::parse_sources(call.text("on").value_or("")));
  TRY(call.services().agents.switch_to(process.pid, sources));
  return page_of(call, process);
}

template <class Seen>
Result<HttpResponse> listen(Call& call, Result<Seen> (*hear)(const ops::ListenRequest&)) {
  const auto process = TRY(call.services().processes.chosen(call));
  const auto seconds = TRY(call.number("durationSeconds", 1, kLongest)).value_or(10);
  return answer_with(TRY(hear({.target = call.services().processes.target(process),
                               .duration = std::chrono::seconds{seconds}})));
}

Result<HttpResponse> stacks(Call& call) {
  const auto process = TRY(call.services().processes.chosen(call));
  return answer_with(TRY(ops::agent_stacks(call.services().processes.target(process))));
}

std::vector<std::string> patterns(const Call& call, std::string_view name) {
  std::vector<std::string> all;
  const auto words = call.text(name).value_or("");
  for (const auto part : split(words, ','))
    if (const auto pattern = trim(part); !pattern.empty()) all.emplace_back(pattern);
  return all;
}

// Afterwards the agent cannot be removed: a POST.
Result<HttpResponse> methods(Call& call) {
  const auto process = TRY(call.services().processes.chosen(call));
  const auto seconds = TRY(call.number("durationSeconds", 1, kLongest)).value_or(10);
  ops::MethodsRequest request{.listen = {.target = call.services().processes.target(process),
                                         .duration = std::chrono::seconds{seconds}},
                              .include = patterns(call, "include"),
                              .exclude = patterns(call, "exclude"),
                              .with_accessors = TRY(call.truth("accessors", false))};
  if (request.include.empty())
    return fail(Errc::kUsage, "include: which methods?")
        .hint("a namespace, type or method, or a full name with *; separated by commas");
  return answer_with(TRY(ops::agent_methods(request)));
}

// Pauses the process: a POST.
Result<HttpResponse> heap(Call& call) {
  const auto process = TRY(call.services().processes.chosen(call));
  ops::AgentHeapRequest request{.target = call.services().processes.target(process),
                                .references = TRY(call.truth("references", false))};
  if (const auto ms = TRY(call.number("maxPauseMs", 1, kLongest * 1000)))
    request.longest_pause = std::chrono::milliseconds{*ms};
  return answer_with(TRY(ops::agent_heap(request)));
}

constexpr Parameter kPid{.name = "pid", .type = "integer", .help = "the process"};
constexpr Parameter kUid{.name = "uid", .type = "string", .help = "or its runtime's GUID"};
constexpr Parameter kName{.name = "name", .type = "string", .help = "or its name"};
constexpr Parameter kProcess[] = {kPid, kUid, kName};
constexpr Parameter kSwitch[] = {kPid,
                                 kUid,
                                 kName,
                                 {.name = "on",
                                  .type = "string",
                                  .help = "sources that are on from now on, separated by commas: "
                                          "exceptions, contention, allocations, survivors; none"}};
constexpr Parameter kListen[] = {
    kPid,
    kUid,
    kName,
    {.name = "durationSeconds", .type = "integer", .help = "how long to listen (default: 10)"}};

constexpr Parameter kMethods[] = {
    kPid,
    kUid,
    kName,
    {.name = "include",
     .type = "string",
     .help = "methods to measure, separated by commas: a namespace, type or method, a full name "
             "with *, or [NAME]: what carries that attribute"},
    {.name = "exclude", .type = "string", .help = "methods not to measure, likewise"},
    {.name = "accessors", .type = "boolean", .help = "trivial getters and setters too"},
    {.name = "durationSeconds", .type = "integer", .help = "how long to measure (default: 10)"}};
constexpr Parameter kHeap[] = {
    kPid,
    kUid,
    kName,
    {.name = "references",
     .type = "boolean",
     .help = "also which types refer to which (.NET 9 and later)"},
    {.name = "maxPauseMs",
     .type = "integer",
     .help = "longest expected pause that is permitted (default: 2000)"}};

constexpr Route listening(std::string_view path, std::string_view summary,
                          Result<HttpResponse> (*answer)(Call&), JsonShape json) {
  return {.method = "GET",
          .path = path,
          .scope = Scope::kTrace,
          .summary = summary,
          .types = kJson,
          .parameters = kListen,
          .answer = answer,
          .json = json,
          .runs = Runs::kLong,
          .load = Load::kRecording,
          .statuses = "400 404 429"};
}

constexpr Route changing(std::string_view path, std::string_view summary,
                         std::span<const Parameter> parameters,
                         Result<HttpResponse> (*answer)(Call&), JsonShape json) {
  return {.method = "POST",
          .path = path,
          .scope = Scope::kTrace,
          .summary = summary,
          .types = kJson,
          .parameters = parameters,
          .answer = answer,
          .json = json,
          .runs = Runs::kLong,
          .statuses = "400 404 429"};
}

constexpr Route kRoutes[] = {
    {.method = "GET",
     .path = "/agent",
     .scope = Scope::kTrace,
     .summary = "The agent in a process, and what its sources have told this server",
     .types = kJson,
     .parameters = kProcess,
     .answer = status,
     .json = value_shape<AgentPage>,
     .runs = Runs::kLong,
     .statuses = "400 404"},
    {.method = "GET",
     .path = "/agent/sources",
     .scope = Scope::kRead,
     .summary = "What the agent can tell: sources, what they need, how long they listen",
     .types = kJson,
     .answer = [](Call&) -> Result<HttpResponse> {
       return answer_with(ops::agent_source_answers());
     },
     .json = value_shape<std::vector<ops::AgentSourceAnswer>>,
     .runs = Runs::kAtOnce,
     .load = Load::kLight},
    changing("/agent/attach", "Loads the agent into a running process", kProcess, attach,
             value_shape<AgentPage>),
    changing("/agent/detach", "Removes the agent from a process", kProcess, detach,
             value_shape<AgentLeft>),
    changing("/agent/sources", "Switches sources of a loaded agent on and off", kSwitch,
             switch_sources, value_shape<AgentPage>),
    listening(
        "/agent/exceptions", "Exceptions with stacks, for a while; loads the agent if needed",
        [](Call& call) { return listen(call, &ops::agent_exceptions); },
        value_shape<ops::AgentExceptions>),
    listening(
        "/agent/contention", "Waits for locks with stacks, for a while; loads the agent if needed",
        [](Call& call) { return listen(call, &ops::agent_contention); },
        value_shape<ops::AgentContention>),
    listening(
        "/agent/allocations", "Allocations with stacks, for a while; loads the agent if needed",
        [](Call& call) { return listen(call, &ops::agent_allocations); },
        value_shape<ops::AgentAllocations>),
    listening(
        "/agent/survivors",
        "What became of sampled objects in the next collections; loads the agent if needed",
        [](Call& call) { return listen(call, &ops::agent_survivors); },
        value_shape<ops::AgentSurvivors>),
    listening(
        "/agent/runtime",
        "Collections, suspensions, threads, modules and compiled methods; loads the agent if "
        "needed",
        [](Call& call) { return listen(call, &ops::agent_runtime); },
        value_shape<ops::AgentRuntime>),
    {.method = "POST",
     .path = "/agent/methods",
     .scope = Scope::kTrace,
     .summary =
         "Measures calls and times of methods by probes in their code, for a while. The agent "
         "stays in the process afterwards",
     .types = kJson,
     .parameters = kMethods,
     .answer = methods,
     .json = value_shape<ops::AgentMethods>,
     .runs = Runs::kLong,
     .load = Load::kRecording,
     .statuses = "400 404 429"},
    {.method = "POST",
     .path = "/agent/heap",
     .scope = Scope::kMemory,
     .summary =
         "Objects of the heap by type, counted inside the process, which is paused meanwhile",
     .types = kJson,
     .parameters = kHeap,
     .answer = heap,
     .json = value_shape<ops::AgentHeap>,
     .runs = Runs::kLong,
     .load = Load::kMemory,
     .statuses = "400 404 413 429"},
    {.method = "GET",
     .path = "/agent/stacks",
     .scope = Scope::kTrace,
     .summary = "Managed stacks of all threads at one moment; loads the agent if needed",
     .types = kJson,
     .parameters = kProcess,
     .answer = stacks,
     .json = value_shape<ops::AgentStacks>,
     .runs = Runs::kLong,
     .statuses = "400 404 429"},
};

}  // namespace

extern constexpr Routes agent_routes{kRoutes};

}  // namespace clrscope::http
