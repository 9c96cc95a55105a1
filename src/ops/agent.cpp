#include "ops/agent.h"

#include <fmt/format.h>

#include "base/proc.h"
#include "base/text.h"
#include "ops/agent_place.h"
#include "ops/agent_sources.h"
#include "ops/processes.h"

namespace clrscope::ops {
namespace {

constexpr std::chrono::seconds kAnswer{5};

Result<Target> find(const TargetRequest& request) {
  return find_target(request, std::chrono::seconds{5}, -1);
}

AgentAnswer answer_of(const Process& process, const wire::Reply& reply) {
  const auto& status = reply.status;
  AgentAnswer answer{.pid = process.pid,
                     .name = process.name,
                     .loaded = true,
                     .runtime = fmt::format("{}.{}", status.runtime_major, status.runtime_minor),
                     .same_version = reply.protocol == wire::kProtocol,
                     .resident = (status.flags & wire::kResidentFlag) != 0,
                     .connections = status.connections,
                     .snapshots = status.snapshots,
                     .bad_requests = status.bad_requests,
                     .refused_peers = status.refused_peers};
  answer.mode = status.mode == wire::LoadMode::kAtStart ? "start" : "attached";
  const bool main = status.identity == wire::Identity::kMain;
  answer.identity = main ? "main" : "notification-only";
  if (!main) answer.missing.emplace_back("code rewriting (another profiler has the main place)");
  answer.sources = names_of_sources(status.sources);
  return answer;
}

Result<AgentAnswer> ask_status(const Process& process, collect::AgentConnection& connection) {
  const auto reply = TRY(connection.ask(wire::RequestKind::kHello, 0, Deadline{kAnswer}));
  return answer_of(process, reply);
}

}  // namespace

Result<AgentAttached> attach_agent(const TargetRequest& request) {
  auto target = TRY(find(request));
  const auto started = TraceClock::now();
  auto loaded = TRY(load_agent(target));
  const auto took = TraceClock::now() - started;
  return AgentAttached{.agent = TRY(ask_status(target.process, loaded.connection)),
                       .already = loaded.already,
                       .took = took};
}

Result<AgentDetached> detach_agent(const TargetRequest& request) {
  const auto target = TRY(find(request));
  AgentDetached out{.pid = target.process.pid, .name = target.process.name};
  auto connection = reach_agent(target.process.pid);
  if (!connection) {
    if (connection.error().code == Errc::kNotFound) return out;
    return fail(connection.error());
  }
  const auto started = TraceClock::now();
  TRY(unload_agent(*std::move(connection)));
  out.was_loaded = true;
  out.took = TraceClock::now() - started;
  return out;
}

Result<AgentAnswer> agent_status(const TargetRequest& request) {
  const auto target = TRY(find(request));
  auto connection = reach_agent(target.process.pid);
  if (!connection && connection.error().code == Errc::kNotFound)
    return AgentAnswer{.pid = target.process.pid, .name = target.process.name};
  if (!connection) return fail(connection.error());
  return ask_status(target.process, *connection);
}

Result<std::vector<AgentAnswer>> agents_loaded() {
  std::vector<AgentAnswer> out;
  for (const auto& process : TRY(list_processes())) {
    if (process.foreign) continue;
    auto connection = reach_agent(process.pid);
    if (!connection) continue;
    if (auto status = ask_status(process, *connection)) out.push_back(*std::move(status));
  }
  return out;
}

std::map<std::string, std::string> agent_environment(const std::string& library, bool beside) {
  // The list needs the semicolon at its end.
  if (beside)
    return {{"CORECLR_ENABLE_NOTIFICATION_PROFILERS", "1"},
            {"CORECLR_NOTIFICATION_PROFILERS",
             fmt::format("{}={};", library, wire::kNotificationClassText)}};
  return {{"CORECLR_ENABLE_PROFILING", "1"},
          {"CORECLR_PROFILER", wire::kMainClassText},
          {"CORECLR_PROFILER_PATH", library}};
}

const Shape& shape_of(const AgentAnswer*) {
  using A = AgentAnswer;
  static const auto shape = describe<A>(
      "Agent", "the agent in a process",
      {member<&A::pid>("pid", "process id"), member<&A::name>("name", "name of the process"),
       member<&A::loaded>("loaded", "whether the agent is loaded"),
       member_unless_empty<&A::mode>("mode", "attached, or start: loaded with the process"),
       member_unless_empty<&A::identity>("identity",
                                         "main, or notification-only: beside another profiler"),
       member_unless_empty<&A::runtime>("runtime", "version of the runtime"),
       member<&A::sources>("sources", "sources that are on"),
       member_unless_empty<&A::missing>("missing", "what this agent cannot do here"),
       member<&A::same_version>("sameVersion", "whether this clrscope can use it"),
       member<&A::resident>("resident",
                            "whether it has measured methods, so that it stays until the end"),
       member<&A::connections>("connections", "open control connections, this one included"),
       member<&A::snapshots>("snapshots", "snapshots of all stacks since it was loaded"),
       member<&A::bad_requests>("badRequests", "messages that were not requests"),
       member<&A::refused_peers>("refusedPeers", "connections of other users")});
  return shape;
}

}  // namespace clrscope::ops
