// Listening to the agent for a while, and stacks of all threads.
#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <cstdlib>

#include "base/text.h"
#include "ops/agent_listen.h"

namespace clrscope::ops {
namespace {

using std::chrono::nanoseconds;

constexpr std::chrono::seconds kAnswer{5};
constexpr std::chrono::seconds kStart{30};   // until a command has a runtime
constexpr std::chrono::seconds kSwitch{10};  // the first event session compiles managed code
constexpr int kDrainMs = 3;  // a ring holds some milliseconds of a thread that only throws

constexpr std::string_view kDropNames[] = {"ringFull",     "ringsBusy",  "nameTableFull",
                                           "nameTextFull", "overBudget", "stackFailed",
                                           "stackCut",     "objectsFull"};
static_assert(std::size(kDropNames) == wire::kDropReasons);

// Drains until the time is over, somebody asks to stop, or the agent is gone.
void drain_for(const ListenRequest& request, collect::AgentArena& arena,
               const collect::AgentConnection& connection, const TakeRecord& take) {
  const Deadline deadline{request.duration};
  std::vector<pollfd> polled{{connection.fd(), POLLRDHUP, 0}};
  for (const auto fd : request.stop_fds) polled.push_back({fd, POLLIN, 0});
  do arena.drain(take);
  while (!deadline.passed() && ::poll(polled.data(), polled.size(), kDrainMs) <= 0);
}

// A command gets the agent by its environment, beside a profiler that it has already.
Result<Target> target_of(const ListenRequest& request, std::optional<PlacedAgent>& placed) {
  if (request.target.command.empty() || !request.child)
    return find_target(request.target, kAnswer, -1);
  placed.emplace(TRY(PlacedAgent::place()));
  const char* other = std::getenv("CORECLR_ENABLE_PROFILING");
  auto with_agent = request.target;
  with_agent.environment.merge(
      agent_environment(placed->path(), other && std::string_view{other} == "1"));
  return find_target(with_agent, kStart, request.stop_fds.empty() ? -1 : request.stop_fds.front());
}

Result<LoadedAgent> agent_of(Target& target, const ListenRequest& request) {
  if (!target.child) return load_agent(target);
  auto started = start_agent(target);
  *request.child = std::move(target.child);
  if (!started) return fail(started.error());
  return LoadedAgent{*std::move(started), true};
}

// The agent as it was found: one that we brought leaves with us.
Result<> leave(LoadedAgent& loaded) {
  return loaded.already ? Result<>{} : unload_agent(std::move(loaded.connection));
}

}  // namespace

std::vector<AgentDrop> drops_of(const collect::AgentArena& arena) {
  std::vector<AgentDrop> out;
  for (std::uint32_t i = 0; i < wire::kDropReasons; ++i)
    if (const auto count = arena.drops(static_cast<wire::Drop>(i)); count > 0)
      out.push_back({std::string{kDropNames[i]}, count});
  if (arena.damaged() > 0) out.push_back({"damaged", arena.damaged()});
  return out;
}

Result<> listen_to_agent(const ListenRequest& request, std::uint32_t sources,
                         const TakeRecord& take, const FinishListening& finish) {
  std::optional<PlacedAgent> placed;
  auto target = TRY(target_of(request, placed));
  auto loaded = TRY(agent_of(target, request));
  placed.reset();  // the runtime has loaded it
  auto& connection = loaded.connection;
  const auto listen = [&]() -> Result<> {
    auto arena = TRY(connection.open_arena(Deadline{kAnswer}));
    (void)TRY(connection.demand(wire::RequestKind::kSwitch, sources, Deadline{kSwitch}));
    const auto started = TraceClock::now();
    drain_for(request, arena, connection, take);
    const auto duration = TraceClock::now() - started;
    (void)connection.demand(wire::RequestKind::kSwitch, 0, Deadline{kSwitch});
    arena.drain(take);
    finish(arena, {.pid = target.process.pid,
                   .duration = duration,
                   .dropped = drops_of(arena),
                   .callback_time = arena.callback_time()});
    return {};
  };
  const auto heard = listen();
  const auto left = leave(loaded);
  if (!heard) return fail(heard.error());
  if (!left && left.error().code != Errc::kGone) return fail(left.error());
  return {};
}

Result<AgentExceptions> agent_exceptions(const ListenRequest& request) {
  return hear<AgentExceptions, ExceptionCounter>(request, wire::kSourceExceptions);
}
Result<AgentContention> agent_contention(const ListenRequest& request) {
  return hear<AgentContention, ContentionCounter>(request, wire::kSourceContention);
}
Result<AgentAllocations> agent_allocations(const ListenRequest& request) {
  return hear<AgentAllocations, AllocationCounter>(request, wire::kSourceAllocations);
}
Result<AgentSurvivors> agent_survivors(const ListenRequest& request) {
  return hear<AgentSurvivors, SurvivorCounter>(request, wire::kSourceSurvivors);
}

Result<AgentStacks> agent_stacks(const TargetRequest& request) {
  auto target = TRY(find_target(request, std::chrono::seconds{5}, -1));
  auto loaded = TRY(load_agent(target));
  auto& connection = loaded.connection;
  const auto look = [&]() -> Result<AgentStacks> {
    auto arena = TRY(connection.open_arena(Deadline{kAnswer}));
    (void)TRY(connection.demand(wire::RequestKind::kSnapshot, 0, Deadline{kAnswer}));
    AgentStacks seen{.pid = target.process.pid};
    arena.drain([&](const void* bytes, std::uint32_t size) {
      using namespace wire;
      if (const auto* end = parse_record<SnapshotEnd>(RecordKind::kSnapshotEnd, bytes, size)) {
        seen.pause = arena.duration_of(end->pause_ticks);
        seen.without_stack = end->failed;
      }
      const auto* stack = parse_record<ThreadStack>(RecordKind::kThreadStack, bytes, size);
      if (!stack) return;
      AgentThread thread{.os_id = stack->header.thread};
      for (std::uint32_t i = 0; i < stack->frames; ++i)
        thread.frames.push_back(name_or_unknown(arena, frames_of(stack)[i]));
      seen.threads.push_back(std::move(thread));
    });
    std::ranges::sort(seen.threads, {}, &AgentThread::os_id);
    seen.dropped = drops_of(arena);
    return seen;
  };
  auto seen = look();
  const auto left = leave(loaded);
  if (!seen) return fail(seen.error());
  if (!left) return fail(left.error());
  return seen;
}

}  // namespace clrscope::ops
