#include "hub/switch_over.h"

#include <algorithm>
#include <functional>
#include <string_view>

namespace clrscope::hub {
namespace {

// Between the two copies of an event nothing happens but the writing of the first, unless the
// thread is put aside just then.
constexpr std::chrono::milliseconds kPairGap{10};
// A thread that is put aside between its two copies misleads: so what is believed counts more than
// one copy that is nearer, but less than one that is nearer by far.
constexpr std::size_t kBelief = 2, kStrong = 3;
constexpr std::chrono::milliseconds kFar{10};
constexpr int kMuchNearer = 100;
// As late as a session may tell of an event; a thread's number may mean another one by then.
constexpr std::chrono::seconds kLongest{10};

std::uint64_t mix(std::uint64_t seed, std::uint64_t value) {
  return (seed ^ value) * 0x9e3779b97f4a7c15ULL ^ (seed >> 29);
}

std::uint64_t hash_of(Bytes bytes) {
  return std::hash<std::string_view>{}({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

}  // namespace

std::uint64_t content_of(const EventType& type) {
  auto content = std::hash<std::string>{}(type.provider);
  content = mix(content, std::hash<std::string>{}(type.name));
  return mix(mix(content, type.id), type.version);
}

std::uint64_t content_of(const Event& event, std::uint64_t type) {
  auto content = mix(type, hash_of(event.payload));
  if (event.activity != nullptr) content = mix(content, hash_of(event.activity->bytes));
  return content;
}

CopyFilter::CopyFilter(const LastEvents& old, const SwitchFacts& facts) : facts_(facts) {
  for (const auto& [thread, events] : old.by_thread()) {
    const auto last = events.last().time;
    if (last < facts.opened) continue;
    threads_.emplace(thread, Thread{.old = events});
    horizon_ = std::max(horizon_, last + kLongest);
  }
}

bool CopyFilter::is_copy(const Event& event, std::uint64_t content) {
  if (event.time > horizon_) {
    threads_.clear();  // those that were silent since
    return false;
  }
  const auto at = threads_.find(event.capture_thread);
  if (at == threads_.end()) return false;
  auto& thread = at->second;
  const LastEvents::One one{event.time, content};
  if (one.time < thread.old.last().time) {
    learn(thread, one);
    thread.seen = true;
    thread.before = one;
    return true;
  }
  const bool copy = is_copy_of_last(thread, one);
  threads_.erase(at);
  return copy;
}

// The first event of the thread after the old session's last: that one's copy, or the next event?
bool CopyFilter::is_copy_of_last(const Thread& thread, const LastEvents::One& event) {
  const auto& last = thread.old.last();
  if (event.content != last.content) return false;
  if (thread.seen) {
    if (thread.before.content != last.content) return true;
    // The thread says the same again and again: this one, or the one before?
    learn_of_time(event.time - last.time, last.time - thread.before.time, thread);
    return old_first();
  }
  // The new session may not have been there yet. What it had before the old one was asked to end
  // the old one had as well, and the last one since the new one is on has a copy.
  if (event.time < facts_.on || last.time >= facts_.on) return true;
  const auto gap = event.time - last.time;
  if (thread.old.size() == 1) return gap <= kPairGap;
  return gap < (last.time - thread.old.last(1).time) / 2;
}

// Between two neighbours of the old session lies the copy of the earlier or of the later one.
void CopyFilter::learn(const Thread& thread, const LastEvents::One& event) {
  const auto& old = thread.old;
  std::size_t later = 0;  // how many of the old ones are
  while (later < old.size() && old.last(later).time > event.time) ++later;
  if (later == 0 || later == old.size()) return;
  const auto &before = old.last(later), &after = old.last(later - 1);
  const bool of_before = before.content == event.content, of_after = after.content == event.content;
  if (of_before != of_after) ++(of_before ? certain_.old_first : certain_.new_first);
  if (of_before && of_after && before.time >= facts_.on)
    learn_of_time(event.time - before.time, after.time - event.time, thread);
}

void CopyFilter::learn_of_time(std::chrono::nanoseconds if_old_first,
                               std::chrono::nanoseconds if_new_first, const Thread& thread) {
  const auto [near, far] = std::minmax({if_old_first, if_new_first});
  const bool strong = far >= kFar && far > kMuchNearer * near;
  // The first of a thread takes its time: the session has to make room for the thread.
  if (!strong && !thread.seen) return;
  (if_old_first < if_new_first ? near_.old_first : near_.new_first) += strong ? kStrong : 1;
}

bool CopyFilter::old_first() const {
  if (certain_.old_first != certain_.new_first) return certain_.old_first > certain_.new_first;
  const auto old = near_.old_first + (facts_.old_first ? kBelief : 0);
  const auto fresh = near_.new_first + (facts_.old_first ? 0 : kBelief);
  return old != fresh ? old > fresh : facts_.old_first;
}

}  // namespace clrscope::hub
