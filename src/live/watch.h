// A doctor that keeps looking: what is wrong with which process now, by looks that cost little.
//
// Only findings that one look tells are looked for: no events, no samples. Looks go on while
// somebody asks; nothing runs when nobody does. What a process was found to have when it ended is
// kept for some minutes. A process that answers late holds up the others for half a second, then a
// helper goes on with them: there are as many as are needed. Any thread; calls may wait for the
// process.
#pragma once

#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "live/request_rate.h"
#include "live/watch_answers.h"
#include "live/watch_schedule.h"
#include "model/process.h"
#include "ops/examine.h"
#include "ops/target.h"

namespace clrscope::live {

struct WatchSetting {
  std::function<Result<std::vector<Process>>()> list{};       // those that may be seen
  std::function<ops::TargetRequest(const Process&)> reach{};  // how
  std::function<RequestRate(const Process&)> requests{};      // default: unknown; must not wait
  WatchRhythm rhythm{};
  std::chrono::nanoseconds keep{std::chrono::minutes{10}};       // of one that has ended
  std::chrono::nanoseconds first_look{std::chrono::seconds{3}};  // waited for at most so long
  // Unless told: ops::examine with the findings that one look tells.
  std::function<Result<ops::ExaminationAnswer>(const ops::TargetRequest&, ops::Bedside&)> look{};
};

class Watch {
 public:
  explicit Watch(WatchSetting setting);
  ~Watch();
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

  // All processes, the worst first.
  Result<std::vector<WatchedProcess>> list();
  // The first ask waits for the first look. kNotFound: there is no such process, nor was there one
  // lately.
  Result<WatchAnswer> one(pid_t pid);

  // What the last checks of the running processes found. Asking keeps the checks going.
  Result<std::vector<CurrentFinding>> findings();
  // Told of each finding that begins or ends from now on, by a thread of the watch: must not wait.
  // Null: nothing has happened for a while. False: it wants no more. Keeps the checks going.
  using OnChange = std::function<bool(const FindingChange*)>;
  void follow(OnChange on_change);

  // Whether `caller` has not asked the same lately: then it is worth a line in the audit log.
  bool is_new_ask(const std::string& caller, const std::string& what);

 private:
  struct Entry;
  using Shared = std::shared_ptr<Entry>;

  Result<> list_again(std::chrono::nanoseconds oldest);
  void take_over(const std::vector<Process>& processes, TraceTime now);
  void refresh(Entry& entry, TraceTime now);
  void end(Entry& entry, TraceTime now);
  void changed();
  void tell(const Entry& entry, const std::vector<FindingSpan>& changes);
  void keep_going(std::unique_lock<std::mutex>& lock);
  void forget(TraceTime now);
  void close_unasked(std::unique_lock<std::mutex>& lock);
  WatchedProcess line_of(const Entry& entry, TraceTime now) const;
  WatchAnswer answer_of(const Entry& entry, TraceTime now) const;
  void start_helper(std::size_t helper);
  void work(const std::stop_token& stop, std::size_t helper);
  void look_at(pid_t pid, std::unique_lock<std::mutex>& lock);
  Result<ops::ExaminationAnswer> look(const ops::TargetRequest& target, Entry& entry) const;

  const WatchSetting setting_;
  std::mutex listing_;  // one at a time
  std::mutex mutex_;    // of all that follows
  std::condition_variable_any change_;
  std::uint64_t changes_ = 0;
  WatchSchedule schedule_;
  std::map<pid_t, Shared> entries_;
  std::vector<pid_t> shown_;  // as it was listed last
  std::optional<TraceTime> listed_;
  std::map<std::pair<std::string, std::string>, TraceTime> asks_;  // by caller and what
  std::vector<OnChange> followers_;
  TraceTime next_tick_{};  // of them
  bool ending_ = false;
  std::vector<std::jthread> threads_;  // last member: joins first
};

}  // namespace clrscope::live
