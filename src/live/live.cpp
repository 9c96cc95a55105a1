#include "live/live.h"

#include <algorithm>

#include "base/proc.h"
#include "base/proc_identity.h"
#include "model/provider_names.h"
#include "ops/code_lines.h"
#include "ops/counter_sources.h"
#include "ops/counters.h"
#include "ops/settled.h"
#include "ops/target.h"

namespace clrscope::live {
namespace {

constexpr std::chrono::milliseconds kTick{500};
constexpr std::chrono::seconds kLook{1};

}  // namespace

Result<LiveTarget> find_live_target(const LiveWho& who) {
  static std::atomic<std::uint64_t> next{1};
  LiveTarget live;
  if (!who.target.uid) {
    ops::wait_until_settled(who.pid);
    live.start_ticks = TRY(proc_status(who.pid)).start_ticks;
    live.open_lines = [pid = who.pid, ticks = live.start_ticks] {
      return ops::open_code_lines(pid, ticks);
    };
  }
  // All of it is kept while a session may need its endpoint.
  const auto target =
      std::make_shared<ops::Target>(TRY(ops::find_target(who.target, std::chrono::seconds{2}, -1)));
  auto process = target->process;
  process.pid = who.pid;
  live.source = ops::make_source(next++, process, target);
  return live;
}

bool is_limit(const Error& error) { return error.hint.starts_with(kLimitHint); }

Live::Live(LiveSetting setting) : setting_(std::move(setting)) {
  ticker_ = std::jthread{[this](const std::stop_token& stop) { tick(stop); }};
  keeper_ = std::jthread{[this](const std::stop_token& stop) { keep(stop); }};
}

Live::~Live() {
  for (auto* one : {&ticker_, &keeper_}) {
    one->request_stop();
    one->join();
  }
}

FeedRequest Live::counters_of(std::vector<hub::CounterRequest> counters) const {
  if (counters.empty()) counters = ops::default_counters();
  return counters_feed(std::move(counters), setting_.interval);
}

Result<std::shared_ptr<LiveProcess>> Live::process(const LiveWho& who) {
  std::shared_ptr<Slot> slot;
  {
    const std::lock_guard lock{mutex_};
    auto& at = slots_[who.key()];
    if (!at) {
      if (slots_.size() > setting_.processes) {
        slots_.erase(who.key());
        return fail(Errc::kDenied, "{} processes are already being watched", setting_.processes)
            .hint("{}", kLimitHint);
      }
      at = std::make_shared<Slot>();
    }
    slot = at;
  }
  const std::lock_guard lock{slot->mutex};
  if (slot->process && slot->process->start_ticks() != 0) {
    // The pid of one that ended may be another's now.
    const auto now = proc_identity(who.pid);
    if (now && !now->ended() && now->start_ticks != slot->process->start_ticks())
      slot->process.reset();
  }
  if (slot->process) return slot->process;
  auto target = setting_.find ? setting_.find(who) : find_live_target(who);
  if (!target) return fail(std::move(target.error()));
  slot->process = TRY(LiveProcess::start(std::move(*target), setting_.limits));
  work_.notify_all();
  return slot->process;
}

std::vector<std::shared_ptr<LiveProcess>> Live::all() const {
  std::vector<std::shared_ptr<Slot>> slots;
  {
    const std::lock_guard lock{mutex_};
    for (const auto& [key, slot] : slots_) slots.push_back(slot);
  }
  std::vector<std::shared_ptr<LiveProcess>> all;
  for (const auto& slot : slots) {
    // One that is being reached has nothing yet.
    const std::unique_lock lock{slot->mutex, std::try_to_lock};
    if (lock && slot->process) all.push_back(slot->process);
  }
  return all;
}

void Live::tick(const std::stop_token& stop) {
  std::unique_lock lock{mutex_};
  while (!stop.stop_requested()) {
    if (slots_.empty()) {
      work_.wait(lock, stop, [&] { return !slots_.empty(); });
      continue;
    }
    work_.wait_for(lock, stop, kTick, [] { return false; });
    lock.unlock();
    for (const auto& process : all()) process->tick();
    lock.lock();
  }
}

void Live::keep(const std::stop_token& stop) {
  const auto look = std::min<std::chrono::nanoseconds>(kLook, setting_.limits.keep / 2);
  std::unique_lock lock{mutex_};
  while (!stop.stop_requested()) {
    if (slots_.empty()) {
      work_.wait(lock, stop, [&] { return !slots_.empty(); });
      continue;
    }
    work_.wait_for(lock, stop, look, [] { return false; });
    const auto slots = slots_;
    lock.unlock();
    for (const auto& [key, slot] : slots) {
      std::unique_lock one{slot->mutex, std::try_to_lock};
      if (!one) continue;
      const auto process = slot->process;
      one.unlock();
      if (process) (void)process->lives();
      const bool stays = process && process->keep_or_close();
      if (stays) continue;
      // Somebody may have asked meanwhile: then it is kept until the next look.
      std::unique_lock again{slot->mutex, std::try_to_lock};
      if (!again || (process && !process->status().feeds.empty())) continue;
      slot->process.reset();
      again.unlock();
      const std::lock_guard all{mutex_};
      const auto at = slots_.find(key);
      if (at != slots_.end() && at->second == slot && slot.use_count() <= 3) {
        slots_.erase(at);
        if (process) names_asked_.erase(process->info().pid);
      }
    }
    lock.lock();
  }
}

LiveSource Live::source_of(const LiveProcess& process, const Feed& feed) const {
  return {.pid = process.info().pid,
          .process = process.info().process,
          .runtime = process.info().runtime,
          .since = feed.since,
          .live = process.ended().empty(),
          .ended = process.ended(),
          .ended_at = process.ended_at(),
          .lost = process.summary(feed).lost,
          .left_out = feed.dropped};
}

Result<CountersAnswer> Live::counters(const LiveWho& who, const CountersAsk& ask) {
  const auto process = TRY(this->process(who));
  auto feed = TRY(process->ask(counters_of(ask.counters)));
  process->wait_for(*feed, setting_.interval * 2);
  auto series = process->counters().series(ask.choice, ask.length);
  if (series.empty() && !ask.choice.provider.empty() && process->ended().empty()) {
    // One that is not among all that were found is asked for by its name.
    feed = TRY(process->ask(counters_of({{.provider = ask.choice.provider}})));
    process->wait_for(*feed, setting_.interval * 2);
    series = process->counters().series(ask.choice, ask.length);
  }
  if (!ask.counters.empty())
    std::erase_if(series, [&](const auto& one) { return !hub::wanted(ask.counters, one.last); });
  CountersAnswer answer{.source = source_of(*process, *feed),
                        .interval = setting_.interval,
                        .series = std::move(series),
                        .notes = process->summary(*feed).notices};
  answer.source.left_out += process->counters().left_out();
  return answer;
}

Result<std::string> Live::follow(const LiveWho& who, const std::vector<FeedRequest>& requests,
                                 std::shared_ptr<Follower> follower,
                                 std::optional<std::string> after) {
  const auto process = TRY(this->process(who));
  TRY(process->follow(requests, std::move(follower), std::move(after)));
  return process->info().process;
}

bool Live::knows(pid_t pid) const {
  const std::lock_guard lock{mutex_};
  return slots_.contains(std::to_string(pid));
}

RequestRate Live::request_rate(const LiveWho& who) const {
  std::shared_ptr<Slot> slot;
  {
    const std::lock_guard lock{mutex_};
    if (const auto at = slots_.find(who.key()); at != slots_.end()) slot = at->second;
  }
  std::shared_ptr<LiveProcess> process;
  if (slot) {
    const std::unique_lock lock{slot->mutex, std::try_to_lock};
    if (lock) process = slot->process;
  }
  if (!process || !process->reads_counters())
    return {.unknown = "no counters of this process are being read; its Overview reads them"};
  const CounterHistory::Choice hosting{.provider = std::string{kHostingProvider}};
  return request_rate_of(process->counters().series(hosting, {}), wall_now());
}

std::vector<Live::Status> Live::status() const {
  std::vector<Status> statuses;
  for (const auto& process : all()) {
    Status one{.process = process->status()};
    one.source = {.pid = process->info().pid,
                  .process = process->info().process,
                  .runtime = process->info().runtime,
                  .live = process->ended().empty(),
                  .ended = process->ended(),
                  .ended_at = process->ended_at(),
                  .lost = one.process.lost};
    statuses.push_back(std::move(one));
  }
  return statuses;
}

const Shape& shape_of(const LiveSource*) {
  using S = LiveSource;
  static const auto shape = describe<S>(
      "LiveSource", "The watched process",
      {member<&S::pid>("pid", "process id"), member<&S::process>("process", "process name"),
       member<&S::runtime>("runtime", ".NET version"),
       member<&S::since>("since", "start of watching"),
       member<&S::live>("live", "whether it still sends data"),
       member_unless_empty<&S::ended>("ended", "why it no longer sends data"),
       member<&S::ended_at>("endedAt", "time of its end"),
       member<&S::lost>("lost", "events that the runtime lost"),
       member<&S::left_out>("leftOut", "items left out for lack of space or speed")});
  return shape;
}

}  // namespace clrscope::live
