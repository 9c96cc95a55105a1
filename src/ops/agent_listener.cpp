#include "ops/agent_listener.h"

#include <fmt/format.h>
#include <poll.h>

#include <algorithm>

#include "base/proc.h"
#include "ops/agent_listen.h"
#include "ops/agent_sources.h"

namespace clrscope::ops {
namespace {

constexpr std::chrono::seconds kAnswer{5};
constexpr std::chrono::seconds kSwitch{10};  // the first event session compiles managed code
constexpr int kBusyMs = 3;                   // a ring holds some milliseconds of a busy thread
constexpr int kIdleMs = 200;
constexpr std::chrono::seconds kRate{1};  // the time that a rate is of

struct Switched {
  wire::Spender spender;
  std::uint32_t bit;
};
constexpr Switched kSwitched[] = {{wire::Spender::kExceptions, wire::kSourceExceptions},
                                  {wire::Spender::kContention, wire::kSourceContention},
                                  {wire::Spender::kAllocations, wire::kSourceAllocations},
                                  {wire::Spender::kSurvivors, wire::kSourceSurvivors}};

template <class Seen, class Counter>
Seen filled(pid_t pid, const AgentSourceState& state, const collect::AgentArena& arena,
            const Counter& counter) {
  Seen seen;
  seen.pid = pid;
  seen.duration = state.on_time;
  seen.callback_time = state.callback_time;
  counter.fill(arena, seen);
  return seen;
}

}  // namespace

const Shape& shape_of(const AgentSourceState*) {
  using A = AgentSourceState;
  static const auto shape = describe<A>(
      "AgentSourceState", "a source of the agent and what it has cost",
      {member<&A::id>("id", "exceptions, contention, allocations or survivors"),
       member<&A::on>("on", "whether it is on"),
       member<&A::on_time>("onMs", "how long it has been on"),
       member<&A::count>("count", "what it saw in that time"),
       member<&A::per_second>("perSecond", "how many of them in the last second"),
       member<&A::callback_time>("callbackMs", "time it took on the threads of the process")});
  return shape;
}

const Shape& shape_of(const AgentSeen*) {
  using A = AgentSeen;
  static const auto shape = describe<A>(
      "AgentSeen", "what the sources of an agent have told since they were switched on",
      {member<&A::pid>("pid", "process id"),
       member_unless_empty<&A::ended>("ended", "why listening has ended"),
       member<&A::sources>("sources", "each source with its price"),
       member<&A::callback_time>("callbackMs", "time all took on the threads of the process"),
       member<&A::dropped>("dropped", "what could not be recorded, by reason"),
       member<&A::exceptions>("exceptions", "if that source was on"),
       member<&A::contention>("contention", "if that source was on"),
       member<&A::allocations>("allocations", "if that source was on"),
       member<&A::survivors>("survivors", "if that source was on")});
  return shape;
}

Result<std::unique_ptr<AgentListener>> AgentListener::open(pid_t pid) {
  auto connection = TRY(reach_agent(pid));
  auto arena = TRY(connection.open_arena(Deadline{kAnswer}));
  return std::unique_ptr<AgentListener>{
      new AgentListener{pid, std::move(connection), std::move(arena)}};
}

AgentListener::AgentListener(pid_t pid, collect::AgentConnection connection,
                             collect::AgentArena arena)
    : pid_(pid),
      connection_(std::move(connection)),
      heard_(Heard{std::move(arena)}),
      fd_(connection_.with([](const auto& open) { return open.fd(); })),
      reader_([this](std::stop_token stop) { run(stop); }) {}

AgentListener::~AgentListener() {
  reader_.request_stop();
  if (sources_.load() != 0) (void)switch_to(0);
}

Result<> AgentListener::switch_to(std::uint32_t sources) {
  const auto done = connection_.with([&](auto& connection) -> Result<> {
    (void)TRY(connection.demand(wire::RequestKind::kSwitch, sources, Deadline{kSwitch}));
    return {};
  });
  if (!done) return fail(done.error());
  sources_ = sources;
  const auto now = TraceClock::now();
  static_assert(std::size(kSwitched) == kMeters);
  heard_.with([&](Heard& heard) {
    for (std::size_t i = 0; i < std::size(kSwitched); ++i) {
      auto& meter = heard.meters[i];
      const bool on = (sources & kSwitched[i].bit) != 0;
      if (on == meter.on) continue;
      if (!on) meter.before += now - meter.since;
      meter.on = on;
      meter.since = now;
      meter.per_second = 0;
      meter.marked = count_of(heard, i);
    }
  });
  return {};
}

std::uint64_t AgentListener::count_of(const Heard& heard, std::size_t index) {
  switch (kSwitched[index].spender) {
    case wire::Spender::kExceptions:
      return heard.arena.exceptions();
    case wire::Spender::kContention:
      return heard.arena.contentions();
    default:  // both come from the same samples
      return heard.arena.allocations();
  }
}

void AgentListener::mark(Heard& heard, TraceTime now) {
  const auto passed = std::chrono::duration<double>(now - heard.marked).count();
  for (std::size_t i = 0; i < std::size(heard.meters); ++i) {
    const auto count = count_of(heard, i);
    auto& meter = heard.meters[i];
    meter.per_second =
        meter.on && count >= meter.marked ? static_cast<double>(count - meter.marked) / passed : 0;
    meter.marked = count;
  }
  heard.marked = now;
}

void AgentListener::run(std::stop_token stop) {
  while (!stop.stop_requested()) {
    const auto now = TraceClock::now();
    heard_.with([&](Heard& heard) {
      heard.arena.drain(
          [&](const void* bytes, std::uint32_t size) { heard.counters.take(bytes, size); });
      if (now - heard.marked >= kRate) mark(heard, now);
    });
    pollfd closed{fd_, POLLRDHUP, 0};
    if (::poll(&closed, 1, sources_.load() != 0 ? kBusyMs : kIdleMs) <= 0) continue;
    const bool gone = !process_exists(pid_);
    const auto end = TraceClock::now();
    heard_.with([&](Heard& heard) {
      heard.arena.drain(
          [&](const void* bytes, std::uint32_t size) { heard.counters.take(bytes, size); });
      for (auto& meter : heard.meters) {
        if (meter.on) meter.before += end - meter.since;
        meter.on = false;
        meter.per_second = 0;
      }
      heard.ended =
          gone ? fmt::format("process {} has ended", pid_) : "the agent has left the process";
    });
    sources_ = 0;
    return;
  }
}

std::vector<AgentSourceState> AgentListener::states_of(const Heard& heard, TraceTime now) {
  std::vector<AgentSourceState> states;
  for (std::size_t i = 0; i < std::size(heard.meters); ++i) {
    const auto& meter = heard.meters[i];
    states.push_back({.id = names_of_sources(kSwitched[i].bit).front(),
                      .on = meter.on,
                      .on_time = meter.on_time(now),
                      .count = meter.on_time(now).count() > 0 ? count_of(heard, i) : 0,
                      .per_second = meter.per_second,
                      .callback_time = heard.arena.callback_time(kSwitched[i].spender)});
  }
  return states;
}

std::vector<AgentSourceState> AgentListener::states() const {
  const auto now = TraceClock::now();
  return heard_.with([&](const Heard& heard) { return states_of(heard, now); });
}

AgentSeen AgentListener::seen() const {
  const auto now = TraceClock::now();
  return heard_.with([&](const Heard& heard) {
    const auto& arena = heard.arena;
    AgentSeen seen{.pid = pid_,
                   .ended = heard.ended,
                   .sources = states_of(heard, now),
                   .callback_time = arena.callback_time(),
                   .dropped = drops_of(arena)};
    const auto was_on = [&](std::size_t i) { return seen.sources[i].on_time.count() > 0; };
    const auto& counters = heard.counters;
    if (was_on(0))
      seen.exceptions = filled<AgentExceptions>(pid_, seen.sources[0], arena, counters.exceptions);
    if (was_on(1))
      seen.contention = filled<AgentContention>(pid_, seen.sources[1], arena, counters.contention);
    if (was_on(2))
      seen.allocations =
          filled<AgentAllocations>(pid_, seen.sources[2], arena, counters.allocations);
    if (was_on(3))
      seen.survivors = filled<AgentSurvivors>(pid_, seen.sources[3], arena, counters.survivors);
    return seen;
  });
}

}  // namespace clrscope::ops
