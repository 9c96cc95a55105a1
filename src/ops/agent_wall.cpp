#include "ops/agent_wall.h"

#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <set>

#include "base/io.h"
#include "base/proc.h"
#include "base/text.h"
#include "ops/agent_listen.h"

namespace clrscope::ops {
namespace {

using std::chrono::nanoseconds;

constexpr std::chrono::seconds kAnswer{5};
constexpr int kPauseShare = 100;             // a pause is at most one part in so many
constexpr std::size_t kMostStacks = 20'000;  // kept apart
constexpr std::size_t kMostThreads = 10'000;
constexpr std::size_t kShownStacks = 5;

// Counts times by slots; slots become names at the end.
class WallCounter {
 public:
  // What the records of the snapshot that follows stand for.
  void begin(nanoseconds time) { time_ = time; }

  void take(const void* bytes, std::uint32_t size) {
    using namespace wire;
    if (const auto* end = parse_record<SnapshotEnd>(RecordKind::kSnapshotEnd, bytes, size))
      pause_ticks_ = end->pause_ticks;
    const auto* stack = parse_record<ThreadStack>(RecordKind::kThreadStack, bytes, size);
    if (!stack) return;
    if (threads_.size() >= kMostThreads && !threads_.contains(stack->header.thread)) return;
    auto& thread = threads_[stack->header.thread];
    thread.time += time_;
    Stack frames{frames_of(stack), frames_of(stack) + stack->frames};
    if (const auto found = thread.stacks.find(frames); found != thread.stacks.end()) {
      found->second += time_;
    } else if (stacks_ < kMostStacks) {
      ++stacks_;
      thread.stacks.emplace(std::move(frames), time_);
    }
  }

  std::uint64_t take_pause() { return std::exchange(pause_ticks_, 0); }
  void name(const collect::AgentArena& arena, pid_t pid, AgentWall& out) const;

 private:
  using Stack = std::vector<std::uint32_t>;
  struct Thread {
    nanoseconds time{};
    std::map<Stack, nanoseconds> stacks{};
  };

  std::map<std::uint32_t, Thread> threads_;
  std::size_t stacks_ = 0;
  nanoseconds time_{};
  std::uint64_t pause_ticks_ = 0;
};

double percent_of(nanoseconds part, nanoseconds whole) {
  return whole.count() > 0
             ? 100.0 * static_cast<double>(part.count()) / static_cast<double>(whole.count())
             : 0;
}

std::string thread_name(pid_t pid, std::uint32_t thread) {
  auto name = read_file(fmt::format("/proc/{}/task/{}/comm", pid, thread));
  return name ? std::string{trim(*name)} : "";
}

void WallCounter::name(const collect::AgentArena& arena, pid_t pid, AgentWall& out) const {
  struct Merged {
    nanoseconds time{};
    std::uint32_t threads = 0;
  };
  std::map<std::vector<std::string>, Merged> merged;  // slots of one name become one stack
  nanoseconds all{};
  const auto status = proc_status(pid);
  const bool same_numbers = status && status->namespace_pid == pid;
  const auto by_time = [](const WallStack& a, const WallStack& b) { return a.time > b.time; };
  for (const auto& [id, thread] : threads_) {
    WallThread one{
        .os_id = id, .name = same_numbers ? thread_name(pid, id) : "", .time = thread.time};
    all += thread.time;
    for (const auto& [slots, time] : thread.stacks) {
      WallStack stack{.percent = percent_of(time, thread.time), .time = time, .threads = 1};
      for (const auto slot : slots) stack.frames.push_back(name_or_unknown(arena, slot));
      auto& together = merged[stack.frames];
      together.time += time;
      ++together.threads;
      one.stacks.push_back(std::move(stack));
    }
    std::ranges::stable_sort(one.stacks, by_time);
    out.threads.push_back(std::move(one));
  }
  for (auto& [frames, together] : merged)
    out.stacks.push_back({.percent = percent_of(together.time, all),
                          .time = together.time,
                          .threads = together.threads,
                          .frames = frames});
  std::ranges::stable_sort(out.stacks, by_time);
}

// True: somebody asked to stop, or the agent is gone.
bool wait_until(TraceTime when, const ListenRequest& request, int connection) {
  std::vector<pollfd> polled{{connection, POLLRDHUP, 0}};
  for (const auto fd : request.stop_fds) polled.push_back({fd, POLLIN, 0});
  for (;;) {
    const auto left = when - TraceClock::now();
    if (left.count() <= 0) return false;
    const auto ms = std::chrono::ceil<std::chrono::milliseconds>(left).count();
    if (::poll(polled.data(), polled.size(), static_cast<int>(std::min<long>(ms, 1000))) > 0)
      return true;
  }
}

}  // namespace

nanoseconds wall_interval(unsigned rate, nanoseconds pause) {
  constexpr nanoseconds kLongest = std::chrono::minutes{1};
  const nanoseconds usual = nanoseconds{1'000'000'000} / std::clamp(rate, 1U, 10U);
  return std::clamp(std::min(pause, kLongest / kPauseShare) * kPauseShare, usual, kLongest);
}

Result<AgentWall> agent_wall(const WallRequest& request) {
  auto target = TRY(find_target(request.listen.target, std::chrono::seconds{5}, -1));
  std::optional<LoadedAgent> loaded{TRY(load_agent(target))};
  const AgentVisit visit{loaded};
  auto& connection = loaded->connection;
  auto arena = TRY(connection.open_arena(Deadline{kAnswer}));
  AgentWall seen{.pid = target.process.pid};
  WallCounter counter;
  const auto started = TraceClock::now();
  const auto end = started + request.listen.duration;
  auto interval = wall_interval(request.rate, {});
  auto last = started - interval;
  for (;;) {
    const auto now = TraceClock::now();
    const auto reply = connection.ask(wire::RequestKind::kSnapshot, 0, Deadline{kAnswer});
    if (!reply && reply.error().code == Errc::kGone && seen.snapshots > 0) break;
    if (!reply) return fail(reply.error());
    if (reply->outcome == wire::Outcome::kTimeout)
      return fail(Errc::kTimeout, "the runtime of process {} does not stop its threads", seen.pid)
          .hint("check whether a thread of the process is stuck; see clrscope stacks");
    // A snapshot stands for the time since the last one.
    counter.begin(now - last);
    arena.drain([&](const void* bytes, std::uint32_t size) { counter.take(bytes, size); });
    const auto pause = arena.duration_of(counter.take_pause());
    if (reply->outcome == wire::Outcome::kDone) {
      last = now;
      ++seen.snapshots;
      seen.paused += pause;
      seen.longest_pause = std::max(seen.longest_pause, pause);
    } else {
      ++seen.refused;
    }
    interval = wall_interval(
        request.rate,
        std::max(pause, seen.paused /
                            std::max<std::int64_t>(1, static_cast<std::int64_t>(seen.snapshots))));
    const auto next = now + interval;
    const bool stop = wait_until(std::min(next, end), request.listen, connection.fd());
    if (stop || next >= end) break;
  }
  seen.duration = TraceClock::now() - started;
  const auto seconds = std::chrono::duration<double>{seen.duration}.count();
  seen.per_second = seconds > 0 ? static_cast<double>(seen.snapshots) / seconds : 0;
  seen.paused_percent = percent_of(seen.paused, seen.duration);
  counter.name(arena, seen.pid, seen);
  seen.dropped = drops_of(arena);
  return seen;
}

Document wall_document(const AgentWall& seen) {
  Document page;
  page.summary.push_back(fmt::format(
      "{} snapshots of all managed threads in {} ({:.1f} per second); the process was paused for "
      "{:.2f} % of the time, {} at most.",
      seen.snapshots, format_duration(seen.duration), seen.per_second, seen.paused_percent,
      format_duration(seen.longest_pause)));
  if (seen.refused > 0)
    page.summary.push_back(fmt::format("{} snapshots were refused by the runtime.", seen.refused));
  for (const auto& drop : seen.dropped)
    page.summary.push_back(fmt::format("Not recorded: {} {}.", drop.count, drop.reason));
  if (seen.stacks.empty()) return page;
  const auto leaf = [](const WallStack& stack) {
    return stack.frames.empty() ? std::string{"unknown"} : stack.frames.front();
  };
  DocumentTable threads{.columns = {"THREAD", "NAME", ">SHARE", "MOST TIME IN"}};
  for (const auto& thread : seen.threads)
    if (!thread.stacks.empty())
      threads.rows.push_back({std::to_string(thread.os_id), thread.name,
                              fmt::format("{:.1f} %", thread.stacks.front().percent),
                              leaf(thread.stacks.front())});
  page.tables.push_back(std::move(threads));
  for (std::size_t i = 0; i < std::min(seen.stacks.size(), kShownStacks); ++i) {
    const auto& stack = seen.stacks[i];
    page.blocks.emplace_back(
        Heading{.text = fmt::format("{:.1f} % of the time of all threads, {} thread{}",
                                    stack.percent, stack.threads, stack.threads == 1 ? "" : "s")});
    FrameLines lines{.frames = {}, .indent = 2};
    for (const auto& frame : stack.frames) lines.frames.push_back({.text = frame});
    page.blocks.emplace_back(std::move(lines));
  }
  return page;
}

const Shape& shape_of(const WallStack*) {
  using A = WallStack;
  static const auto shape =
      describe<A>("AgentWallStack", "a stack and how long threads had it",
                  {member<&A::percent>("percent", "share of the time of the thread or of all"),
                   member<&A::time>("timeMs", "estimate of the time"),
                   member<&A::threads>("threads", "threads that had this stack"),
                   member<&A::frames>("frames", "managed methods, innermost first")});
  return shape;
}

const Shape& shape_of(const WallThread*) {
  using A = WallThread;
  static const auto shape =
      describe<A>("AgentWallThread", "where a thread spent its time",
                  {member<&A::os_id>("osId", "thread id, as the process numbers it"),
                   member_unless_empty<&A::name>("name", "name of the thread"),
                   member<&A::time>("timeMs", "time in which the thread was seen"),
                   member<&A::stacks>("stacks", "its stacks, most time first")});
  return shape;
}

const Shape& shape_of(const AgentWall*) {
  using A = AgentWall;
  static const auto shape =
      describe<A>("AgentWall", "where managed threads spend their time, running or waiting",
                  {member<&A::pid>("pid", "process id"),
                   member<&A::duration>("durationMs", "how long it looked"),
                   member<&A::snapshots>("snapshots", "snapshots of all threads"),
                   member<&A::refused>("refused", "snapshots that the runtime did not permit"),
                   member<&A::per_second>("perSecond", "snapshots per second"),
                   member<&A::paused>("pausedMs", "how long the process was paused in total"),
                   member<&A::longest_pause>("longestPauseMs", "longest pause"),
                   member<&A::paused_percent>("pausedPercent", "share of the time it was paused"),
                   member<&A::stacks>("stacks", "stacks of all threads together, most time first"),
                   member<&A::threads>("threads", "the threads"),
                   member<&A::dropped>("dropped", "what could not be recorded, by reason")});
  return shape;
}

}  // namespace clrscope::ops
