#include "live/watch_schedule.h"

#include <algorithm>
#include <vector>

namespace clrscope::live {
namespace {

constexpr int kOwnShare = 1000;   // a look may cost us one part in so many of the time: 0.1 %
constexpr int kListShare = 100;   // all looks at listed processes together: 1 %
constexpr int kPauseShare = 100;  // and the process itself

}  // namespace

bool WatchSchedule::asked_lately(const Turn& turn, TraceTime now) const {
  return turn.asked && now - *turn.asked < rhythm_.lately;
}

bool WatchSchedule::is_asked(pid_t pid, TraceTime now) const {
  const auto at = turns_.find(pid);
  return at != turns_.end() && asked_lately(at->second, now);
}

bool WatchSchedule::wanted(const Turn& turn, TraceTime now) const {
  return asked_lately(turn, now) || (turn.listed && now - *turn.listed < rhythm_.lately);
}

// One that is only listed makes place for one that is asked about.
bool WatchSchedule::make_place(TraceTime now) {
  if (turns_.size() < rhythm_.processes) return true;
  const auto listed = std::ranges::find_if(
      turns_, [&](const auto& one) { return !asked_lately(one.second, now) && !one.second.began; });
  if (listed == turns_.end()) return false;
  turns_.erase(listed);
  return true;
}

bool WatchSchedule::ask(pid_t pid, TraceTime now) {
  drop_unasked(now);
  if (!turns_.contains(pid) && !make_place(now)) return false;
  turns_[pid].asked = now;
  return true;
}

void WatchSchedule::ask_all(std::span<const pid_t> pids, TraceTime now) {
  drop_unasked(now);
  for (const auto pid : pids)
    if (turns_.contains(pid) || turns_.size() < rhythm_.processes) turns_[pid].listed = now;
}

std::chrono::nanoseconds WatchSchedule::every(const Turn& turn, TraceTime now) const {
  const auto spared = [&](std::chrono::nanoseconds least, std::chrono::nanoseconds by_cost) {
    return std::clamp(std::max(by_cost, turn.cost.pause * kPauseShare), least, rhythm_.rarest);
  };
  // Somebody waits for the verdict.
  if (asked_lately(turn, now))
    return spared(rhythm_.asked, std::min(turn.cost.cpu * kOwnShare, rhythm_.rarest_asked));
  std::chrono::nanoseconds all{};
  for (const auto& [pid, one] : turns_)
    if (!asked_lately(one, now)) all += one.cost.cpu;
  return spared(rhythm_.listed, all * kListShare);
}

std::chrono::nanoseconds WatchSchedule::every(pid_t pid, TraceTime now) const {
  const auto at = turns_.find(pid);
  return at == turns_.end() ? rhythm_.listed : every(at->second, now);
}

TraceTime WatchSchedule::due(const Turn& turn, TraceTime now) const {
  return turn.looked ? *turn.looked + every(turn, now) : now;
}

std::optional<pid_t> WatchSchedule::take(TraceTime now) {
  auto best = turns_.end();
  const auto rank = [&](const Turn& turn) {  // those asked about first, then the longest due
    return std::pair{!asked_lately(turn, now), turn.looked ? due(turn, now) : TraceTime::min()};
  };
  for (auto at = turns_.begin(); at != turns_.end(); ++at) {
    const auto& turn = at->second;
    if (turn.began || !wanted(turn, now) || due(turn, now) > now) continue;
    if (best == turns_.end() || rank(turn) < rank(best->second)) best = at;
  }
  if (best == turns_.end()) return std::nullopt;
  best->second.began = now;
  return best->first;
}

void WatchSchedule::done(pid_t pid, TraceTime now, const WatchCost& cost) {
  const auto at = turns_.find(pid);
  if (at == turns_.end()) return;
  auto& turn = at->second;
  // The first one opens what later ones use.
  if (turn.looked) turn.cost = cost;
  turn.began.reset();
  turn.looked = now;
}

void WatchSchedule::drop(pid_t pid) { turns_.erase(pid); }

void WatchSchedule::drop_unasked(TraceTime now) {
  std::erase_if(turns_,
                [&](const auto& one) { return !one.second.began && !wanted(one.second, now); });
}

std::optional<TraceTime> WatchSchedule::next(TraceTime now) const {
  std::optional<TraceTime> next;
  const auto consider = [&](TraceTime time) { next = next ? std::min(*next, time) : time; };
  for (const auto& [pid, turn] : turns_) {
    if (turn.began) continue;
    if (!wanted(turn, now)) {
      consider(now);
      continue;
    }
    consider(due(turn, now));
    const auto last =
        std::max(turn.asked.value_or(TraceTime::min()), turn.listed.value_or(TraceTime::min()));
    consider(last + rhythm_.lately);
  }
  return next;
}

std::optional<TraceTime> WatchSchedule::helper_needed(std::size_t helper) const {
  std::vector<TraceTime> began;
  for (const auto& [pid, turn] : turns_)
    if (turn.began) began.push_back(*turn.began);
  if (began.size() < helper) return std::nullopt;
  std::ranges::sort(began);
  return began[helper - 1] + rhythm_.late;
}

}  // namespace clrscope::live
