#include "live/agents.h"

#include <vector>

namespace clrscope::live {
namespace {

constexpr std::chrono::seconds kLease{30};
constexpr std::chrono::seconds kLook{2};
constexpr std::size_t kMost = 32;

}  // namespace

Agents::Agents() : cleaner_([this](std::stop_token stop) { run(stop); }) {}

Agents::~Agents() = default;

Result<> Agents::switch_to(pid_t pid, std::uint32_t sources) {
  std::shared_ptr<ops::AgentListener> listener;
  {
    const std::lock_guard lock{mutex_};
    if (const auto found = kept_.find(pid); found != kept_.end()) listener = found->second.listener;
    if (!listener && kept_.size() >= kMost)
      return fail(Errc::kBusy, "{} agents are listened to already", kept_.size())
          .hint("switch one of them off");
  }
  if (listener && !listener->seen().ended.empty()) listener.reset();
  if (!listener) {
    if (sources == 0) return {};
    listener = TRY(ops::AgentListener::open(pid));
  }
  TRY(listener->switch_to(sources));
  const std::lock_guard lock{mutex_};
  kept_[pid] = {listener, TraceClock::now()};
  return {};
}

std::optional<AgentSeen> Agents::seen(pid_t pid) {
  std::shared_ptr<ops::AgentListener> listener;
  {
    const std::lock_guard lock{mutex_};
    const auto found = kept_.find(pid);
    if (found == kept_.end()) return {};
    found->second.asked = TraceClock::now();
    listener = found->second.listener;
  }
  return listener->seen();
}

void Agents::forget(pid_t pid) {
  std::shared_ptr<ops::AgentListener> gone;  // ends without the lock
  const std::lock_guard lock{mutex_};
  if (const auto found = kept_.find(pid); found != kept_.end()) {
    gone = std::move(found->second.listener);
    kept_.erase(found);
  }
}

void Agents::run(std::stop_token stop) {
  std::unique_lock lock{mutex_};
  while (!stop.stop_requested()) {
    wake_.wait_for(lock, stop, kLook, [] { return false; });
    std::vector<std::shared_ptr<ops::AgentListener>> gone;
    const auto now = TraceClock::now();
    for (auto at = kept_.begin(); at != kept_.end();) {
      if (now - at->second.asked < kLease) {
        ++at;
        continue;
      }
      gone.push_back(std::move(at->second.listener));
      at = kept_.erase(at);
    }
    lock.unlock();
    gone.clear();  // each switches its sources off, which may take a moment
    lock.lock();
  }
}

}  // namespace clrscope::live
