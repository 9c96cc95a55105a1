#include "hub/switch_over.h"

#include <algorithm>
#include <functional>
#include <string_view>

namespace clrscope::hub {
namespace {

// Between the two copies of an event nothing happens but the writing of the first, unless the
// thread is put aside just then.
constexpr std::chrono::milliseconds kPairGap{10};
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

CopyFilter::CopyFilter(const LastEvents& last, TraceTime opened, TraceTime on) : on_(on) {
  for (const auto& [thread, event] : last.by_thread()) {
    if (event.time < opened) continue;
    threads_.emplace(thread, Thread{.last = event});
    horizon_ = std::max(horizon_, event.time + kLongest);
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
  if (event.time < thread.last.time) {
    thread.seen = true;
    thread.before = {event.time, content};
    return true;
  }
  const bool copy = is_copy_of_last(thread, event, content);
  const bool other_was = thread.seen && thread.before.content == thread.last.content;
  if (copy && !other_was) learn(true);
  if (!copy && other_was && content != thread.last.content) learn(false);
  threads_.erase(at);
  return copy;
}

// The first event of the thread after the old session's last: that one's copy, or the next event?
bool CopyFilter::is_copy_of_last(const Thread& thread, const Event& event,
                                 std::uint64_t content) const {
  if (content != thread.last.content) return false;
  const auto gap = event.time - thread.last.time;
  const bool before_may_be = thread.seen && thread.before.content == thread.last.content;
  if (before_may_be) {  // the same again and again: each of the two may be it
    if (old_first_ != new_first_) return old_first_ > new_first_;
    return gap < thread.last.time - thread.before.time;
  }
  // An earlier event had its copy, so the last one has, and it is not the earlier one.
  if (thread.seen || thread.last.time >= on_) return true;
  return gap <= kPairGap;
}

}  // namespace clrscope::hub
