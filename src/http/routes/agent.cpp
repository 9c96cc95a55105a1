// The agent in a process: loads and removes it, switches its sources, tells what they saw.
#include "ops/agent.h"

#include "http/answer.h"
#include "http/processes.h"
#include "http/route.h"
#include "http/services.h"
#include "live/agents.h"
#include "ops/agent_sources.h"

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
