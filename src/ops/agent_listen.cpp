// What the agent tells while somebody listens: exceptions, and stacks of all threads.
#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <unordered_map>

#include "base/text.h"
#include "ops/agent_listen.h"

namespace clrscope::ops {
namespace {

using std::chrono::nanoseconds;

constexpr std::chrono::seconds kAnswer{5};
constexpr std::chrono::seconds kSwitch{10};  // the first event session compiles managed code
constexpr int kDrainMs = 3;  // a ring holds some milliseconds of a thread that only throws
constexpr std::size_t kMostStacks = 100'000;  // kept apart; more are counted without their stack
constexpr std::size_t kMostOpenThrows = 1'000'000;

constexpr std::string_view kDropNames[] = {"ringFull",     "ringsBusy",  "nameTableFull",
                                           "nameTextFull", "overBudget", "stackFailed",
                                           "stackCut"};
static_assert(std::size(kDropNames) == wire::kDropReasons);

// Counted by slots while they come; slots become names at the end.
class ExceptionCounter {
 public:
  void take(const void* bytes, std::uint32_t size) {
    using namespace wire;
    if (const auto* thrown =
            parse_record<ExceptionThrown>(RecordKind::kExceptionThrown, bytes, size))
      take_thrown(*thrown);
    else if (const auto* caught =
                 parse_record<ExceptionCaught>(RecordKind::kExceptionCaught, bytes, size))
      take_caught(*caught);
  }

  std::uint64_t recorded() const { return recorded_; }
  std::vector<ThrownType> named(const collect::AgentArena& arena) const;

 private:
  using Stack = std::vector<std::uint32_t>;
  struct Type {
    std::uint64_t count = 0;
    std::uint64_t caught = 0;
    std::uint64_t ticks = 0;
    std::uint64_t longest = 0;
    std::map<Stack, std::uint64_t> stacks{};
    std::map<std::uint32_t, std::uint64_t> sites{};
    std::map<std::uint32_t, std::uint64_t> catchers{};
  };

  void take_thrown(const wire::ExceptionThrown& thrown) {
    ++recorded_;
    auto& type = types_[thrown.type];
    ++type.count;
    if (thrown.frames > 0) {
      const auto* frames = wire::frames_of(&thrown);
      ++type.sites[frames[0]];
      Stack stack{frames, frames + thrown.frames};
      if (const auto found = type.stacks.find(stack); found != type.stacks.end()) {
        ++found->second;
      } else if (stacks_ < kMostStacks) {
        ++stacks_;
        type.stacks.emplace(std::move(stack), 1);
      }
    }
    if (open_.size() < kMostOpenThrows) open_[thrown.number] = thrown.type;
  }

  void take_caught(const wire::ExceptionCaught& caught) {
    const auto found = open_.find(caught.number);
    if (found == open_.end()) return;  // its throw was dropped
    auto& type = types_[found->second];
    open_.erase(found);
    ++type.caught;
    type.ticks += caught.ticks;
    type.longest = std::max(type.longest, caught.ticks);
    ++type.catchers[caught.method];
  }

  std::map<std::uint32_t, Type> types_;
  std::unordered_map<std::uint64_t, std::uint32_t> open_;
  std::uint64_t recorded_ = 0;
  std::size_t stacks_ = 0;
};

std::vector<MethodCount> named_counts(const collect::AgentArena& arena,
                                      const std::map<std::uint32_t, std::uint64_t>& counts) {
  std::vector<MethodCount> out;
  for (const auto& [slot, count] : counts) out.push_back({name_or_unknown(arena, slot), count});
  std::ranges::sort(out, [](const auto& a, const auto& b) {
    return std::pair{b.count, a.method} < std::pair{a.count, b.method};
  });
  return out;
}

std::vector<ThrownType> ExceptionCounter::named(const collect::AgentArena& arena) const {
  std::vector<ThrownType> out;
  for (const auto& [slot, type] : types_) {
    ThrownType one{.type = name_or_unknown(arena, slot),
                   .count = type.count,
                   .caught = type.caught,
                   .thrown_in = named_counts(arena, type.sites),
                   .caught_in = named_counts(arena, type.catchers)};
    if (type.caught > 0) {
      one.mean_to_catch = arena.duration_of(type.ticks / type.caught);
      one.longest_to_catch = arena.duration_of(type.longest);
    }
    const auto most =
        std::ranges::max_element(type.stacks, {}, [](const auto& stack) { return stack.second; });
    if (most != type.stacks.end())
      for (const auto frame : most->first) one.stack.push_back(name_or_unknown(arena, frame));
    out.push_back(std::move(one));
  }
  std::ranges::sort(out, [](const auto& a, const auto& b) {
    return std::pair{b.count, a.type} < std::pair{a.count, b.type};
  });
  return out;
}

// Drains until the time is over, somebody asks to stop, or the agent is gone.
void drain_for(const ListenRequest& request, collect::AgentArena& arena,
               const collect::AgentConnection& connection, const TakeRecord& take) {
  const Deadline deadline{request.duration};
  std::vector<pollfd> polled{{connection.fd(), POLLIN, 0}};
  for (const auto fd : request.stop_fds) polled.push_back({fd, POLLIN, 0});
  do arena.drain(take);
  while (!deadline.passed() && ::poll(polled.data(), polled.size(), kDrainMs) <= 0);
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

std::string name_or_unknown(const collect::AgentArena& arena, std::uint32_t slot) {
  auto name = arena.name(slot);
  return name.empty() ? "unknown" : name;
}

Result<> listen_to_agent(const ListenRequest& request, std::uint32_t sources,
                         const TakeRecord& take, const FinishListening& finish) {
  auto target = TRY(find_target(request.target, std::chrono::seconds{5}, -1));
  auto loaded = TRY(load_agent(target));
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
  ExceptionCounter counter;
  AgentExceptions seen;
  TRY(listen_to_agent(
      request, wire::kSourceExceptions,
      [&](const void* bytes, std::uint32_t size) { counter.take(bytes, size); },
      [&](const collect::AgentArena& arena, Heard heard) {
        seen = {.pid = heard.pid,
                .duration = heard.duration,
                .exceptions = arena.exceptions(),
                .recorded = counter.recorded(),
                .by_type = counter.named(arena),
                .dropped = std::move(heard.dropped),
                .callback_time = heard.callback_time};
      }));
  return seen;
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
