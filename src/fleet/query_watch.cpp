#include "fleet/query_watch.h"

#include <chrono>

namespace clrscope::fleet {
namespace {

constexpr std::chrono::milliseconds kBetweenLooks{100};

}  // namespace

std::list<QueryWatch::Entry>::iterator QueryWatch::add(Gone gone) {
  const std::lock_guard lock{mutex_};
  const auto entry = running_.insert(running_.end(), Entry{.gone = std::move(gone)});
  changed_.notify_all();
  return entry;
}

void QueryWatch::remove(std::list<Entry>::iterator entry) {
  const std::lock_guard lock{mutex_};
  running_.erase(entry);
}

void QueryWatch::run(const std::stop_token& stop) {
  std::unique_lock lock{mutex_};
  while (changed_.wait(lock, stop, [&] { return !running_.empty(); })) {
    changed_.wait_for(lock, stop, kBetweenLooks, [] { return false; });
    if (stop.stop_requested()) return;
    for (auto& entry : running_)
      if (!entry.stop.stop_requested() && entry.gone()) entry.stop.request_stop();
  }
}

}  // namespace clrscope::fleet
