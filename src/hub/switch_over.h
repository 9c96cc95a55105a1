// Hands listeners over from one running session to another without losing or doubling an event.
//
// The program writes an event to all sessions in one call, one after the other: so the events of
// one thread have the same order in both sessions, and the two copies of an event lie next to each
// other in time. The new session is opened before the old one is stopped; what the old one brought
// up to its end has been handed on. Of the new one's events each thread's are left out up to the
// copy of that thread's last one from the old session:
//
//   old     o1   o2   o3                      (stopped after o3)
//   new          n2   n3   n4   n5
//   handed  o1   o2   o3   n4   n5
//
// Earlier than o3 is a copy; of those later than o3 only the first can be one, and its content
// tells. docs/sessions.md has the reasons. Belongs to one thread at a time.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "model/event.h"

namespace clrscope::hub {

// What the copies of an event have in common. Of types it is made once: they are another reader's.
std::uint64_t content_of(const EventType& type);
std::uint64_t content_of(const Event& event, std::uint64_t type);

// The last event of each thread that a session handed on.
class LastEvents {
 public:
  struct Last {
    TraceTime time{};
    std::uint64_t content = 0;
  };
  void note(const Event& event, std::uint64_t content) {
    by_thread_[event.capture_thread] = {event.time, content};
  }
  const std::unordered_map<std::uint64_t, Last>& by_thread() const { return by_thread_; }

 private:
  std::unordered_map<std::uint64_t, Last> by_thread_;
};

// Which events of the new session the old one had.
class CopyFilter {
 public:
  // `opened`: before it the new session had nothing; `on`: since then it has everything.
  CopyFilter(const LastEvents& last, TraceTime opened, TraceTime on);

  bool is_copy(const Event& event, std::uint64_t content);
  bool done() const { return threads_.empty(); }

 private:
  struct Thread {
    LastEvents::Last last;
    bool seen = false;  // an earlier one
    LastEvents::Last before{};
  };
  bool is_copy_of_last(const Thread& thread, const Event& event, std::uint64_t content) const;
  void learn(bool old_first) { ++(old_first ? old_first_ : new_first_); }

  TraceTime on_;
  TraceTime horizon_{};  // what comes after it is no copy, whichever thread's
  std::unordered_map<std::uint64_t, Thread> threads_;
  // Which of the two sessions the program writes to first: never changes, so certain threads tell
  // it for uncertain ones.
  std::size_t old_first_ = 0, new_first_ = 0;
};

}  // namespace clrscope::hub
