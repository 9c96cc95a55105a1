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
// tells. Where a thread says the same again and again, it is one if the program writes to the old
// session first. docs/sessions.md has the reasons. Belongs to one thread at a time.
#pragma once

#include <array>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "model/event.h"

namespace clrscope::hub {

// What the copies of an event have in common. Of types it is made once: they are another reader's.
std::uint64_t content_of(const EventType& type);
std::uint64_t content_of(const Event& event, std::uint64_t type);

// The last events of each thread that a session handed on.
class LastEvents {
 public:
  struct One {
    TraceTime time{};
    std::uint64_t content = 0;
  };
  class Thread {
   public:
    void note(One event) { kept_[noted_++ % kKept] = event; }
    const One& last(std::size_t back = 0) const { return kept_[(noted_ - 1 - back) % kKept]; }
    std::size_t size() const { return noted_ < kKept ? noted_ : kKept; }

   private:
    static constexpr std::size_t kKept = 8;
    std::array<One, kKept> kept_{};
    std::size_t noted_ = 0;
  };

  void note(const Event& event, std::uint64_t content) {
    by_thread_[event.capture_thread].note({event.time, content});
  }
  const std::unordered_map<std::uint64_t, Thread>& by_thread() const { return by_thread_; }

 private:
  std::unordered_map<std::uint64_t, Thread> by_thread_;
};

// When things were done to the two sessions, and what is believed of their places.
struct SwitchFacts {
  TraceTime opened{};     // before it the new session had nothing
  TraceTime on{};         // since then it has everything, and until then the old one had
  bool old_first = true;  // the program probably writes to the old one first
};

// Which events of the new session the old one had.
class CopyFilter {
 public:
  CopyFilter(const LastEvents& old, const SwitchFacts& facts);

  bool is_copy(const Event& event, std::uint64_t content);
  bool done() const { return threads_.empty(); }

 private:
  struct Thread {
    LastEvents::Thread old;
    bool seen = false;  // an earlier one
    LastEvents::One before{};
  };
  bool is_copy_of_last(const Thread& thread, const LastEvents::One& event);
  void learn(const Thread& thread, const LastEvents::One& event);
  // How far apart the two copies of one event are, by which session is written first.
  void learn_of_time(std::chrono::nanoseconds if_old_first, std::chrono::nanoseconds if_new_first,
                     const Thread& thread);
  bool old_first() const;

  SwitchFacts facts_;
  TraceTime horizon_{};  // what comes after it is no copy, whichever thread's
  std::unordered_map<std::uint64_t, Thread> threads_;
  // Which of the two sessions the program writes to first never changes: what tells it.
  struct Votes {
    std::size_t old_first = 0, new_first = 0;
  };
  Votes certain_, near_;  // by what the events say; by which copy is nearer
};

}  // namespace clrscope::hub
