// Which process the watch looks at next. Time is an argument: nothing waits here.
//
// A process that somebody asked about lately is looked at every few seconds; one that was only
// listed, more rarely. The dearer a look, the longer until the next: docs/controller.md. A process
// is never looked at twice at once. Not safe for threads: the watch has the lock.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <map>
#include <optional>
#include <span>

#include "base/clock.h"
#include "live/watch_answers.h"

namespace clrscope::live {

struct WatchRhythm {
  std::chrono::nanoseconds asked{std::chrono::seconds{5}};    // of one that is asked about
  std::chrono::nanoseconds listed{std::chrono::seconds{10}};  // of all others
  std::chrono::nanoseconds rarest{std::chrono::seconds{60}};
  std::chrono::nanoseconds rarest_asked{std::chrono::seconds{10}};  // unless they pause the process
  std::chrono::nanoseconds lately{std::chrono::seconds{15}};  // how long an ask keeps looks going
  std::chrono::nanoseconds late{std::chrono::milliseconds{500}};  // a look that lasts so long
  std::size_t processes = 64;
};

class WatchSchedule {
 public:
  explicit WatchSchedule(WatchRhythm rhythm = {}) : rhythm_(rhythm) {}

  // Somebody asks about it. False: so many are looked at already.
  bool ask(pid_t pid, TraceTime now);
  // The same for all at once; some may have no place.
  void ask_all(std::span<const pid_t> pids, TraceTime now);
  bool has(pid_t pid) const { return turns_.contains(pid); }
  // By itself, and not only in the list.
  bool is_asked(pid_t pid, TraceTime now) const;

  // The one whose turn it is; it is being looked at until done().
  std::optional<pid_t> take(TraceTime now);
  void done(pid_t pid, TraceTime now, const WatchCost& cost);
  // It is not looked at any more.
  void drop(pid_t pid);
  // Drops those that nobody asked about lately.
  void drop_unasked(TraceTime now);

  // When take() or drop_unasked() has something to do; nothing: never, unless somebody asks.
  std::optional<TraceTime> next(TraceTime now) const;
  // From when on helper number `helper` (from 1) is needed: so many looks are late. Nothing: it is
  // not.
  std::optional<TraceTime> helper_needed(std::size_t helper) const;
  // Time between looks at it.
  std::chrono::nanoseconds every(pid_t pid, TraceTime now) const;

 private:
  struct Turn {
    std::optional<TraceTime> asked{}, listed{};  // when, last
    std::optional<TraceTime> began{};            // the look that goes on
    std::optional<TraceTime> looked{};           // the last look's end
    WatchCost cost{};
  };
  bool asked_lately(const Turn& turn, TraceTime now) const;
  bool wanted(const Turn& turn, TraceTime now) const;
  bool make_place(TraceTime now);
  TraceTime due(const Turn& turn, TraceTime now) const;
  std::chrono::nanoseconds every(const Turn& turn, TraceTime now) const;

  const WatchRhythm rhythm_;
  std::map<pid_t, Turn> turns_;
};

}  // namespace clrscope::live
