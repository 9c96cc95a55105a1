// Live data of running processes: counters with their history, views, logs, streams.
//
// The first request for a topic opens a session in the process and waits at most two intervals; all
// clients with the same request share it; it is closed some minutes after the last request. Without
// requests there is no session in any process. A process that ended keeps its data for the same
// time, marked as ended. Everything is bounded, and what is left out is counted. Any thread; calls
// that open a session wait for the process.
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

#include "analyze/report.h"
#include "base/result.h"
#include "base/shape.h"
#include "live/exception_groups.h"
#include "live/live_process.h"
#include "live/request_rate.h"
#include "ops/live_names.h"
#include "ops/target.h"

namespace clrscope::live {

// The process that is asked about: by its pid, or by its uid where it connected to a port of ours.
struct LiveWho {
  LiveWho(pid_t its_pid) : pid(its_pid), target{.pid = its_pid} {}  // NOLINT: a pid says it all
  LiveWho(pid_t its_pid, ops::TargetRequest how) : pid(its_pid), target(std::move(how)) {}

  pid_t pid;
  ops::TargetRequest target;
  std::string key() const { return target.uid.value_or(std::to_string(pid)); }
};

struct LiveSetting {
  LiveLimits limits{};
  std::chrono::nanoseconds interval{std::chrono::seconds{1}};  // of counters
  std::size_t processes = 64;
  // How a process is reached (default: its diagnostic port).
  std::function<Result<LiveTarget>(const LiveWho& who)> find{};
};

// What every answer says of where it comes from.
struct LiveSource {
  pid_t pid = 0;
  std::string process{};
  std::string runtime{};
  WallTime since{};     // it is watched
  bool live = true;     // it still tells something
  std::string ended{};  // why it does not
  std::optional<WallTime> ended_at{};
  std::uint64_t lost = 0;      // events that the runtime lost
  std::uint64_t left_out = 0;  // for lack of room, or of speed
};
const Shape& shape_of(const LiveSource*);

struct CountersAsk {
  std::vector<hub::CounterRequest> counters{};  // only these; empty: all
  CounterHistory::Choice choice{};              // of them
  std::chrono::nanoseconds length{};            // of the history
};
struct CountersAnswer {
  LiveSource source{};
  std::chrono::nanoseconds interval{};
  std::vector<CounterSeries> series{};
  std::vector<std::string> notes{};  // what is missing, and why
};

// An exception with the names of its stack.
struct NamedException {
  Thrown thrown{};
  std::vector<analyze::Frame> frames{};  // leaf first
};
struct ExceptionsAnswer {
  LiveSource source{};
  std::uint64_t total = 0;  // since it is watched
  std::vector<NamedException> thrown{};
};

struct RecentException {
  std::uint64_t number = 0;
  WallTime time{};
  std::string type{}, message{};
  ThreadId thread{};
  std::vector<std::string> stack{};
};
const Shape& shape_of(const RecentException*);

// What is said beside the report of the same name.
struct ViewAnswer {
  std::string_view view{};
  std::string summary{};  // one sentence
  LiveSource source{};
  WallTime from{};                                       // of what is shown
  std::optional<std::uint64_t> total{};                  // exceptions since it is watched
  std::optional<std::vector<RecentException>> recent{};  // the newest first
  std::optional<std::uint64_t> grouped{};                // how many exceptions the groups are of
  std::optional<std::vector<ExceptionGroup>> groups{};
  std::optional<std::uint64_t> more_groups{};
  std::optional<double> queue_length{};  // of the thread pool
  std::shared_ptr<const analyze::Report> report{};
  Document page{};
};
const Shape& shape_of(const ViewAnswer*);

class Live {
 public:
  explicit Live(LiveSetting setting = {});
  ~Live();
  Live(const Live&) = delete;
  Live& operator=(const Live&) = delete;

  Result<CountersAnswer> counters(const LiveWho& who, const CountersAsk& ask);
  // Of the runtime's topics. `length`: the last so much, at most what is kept; 0: all of it.
  Result<ViewAnswer> view(const LiveWho& who, Topic topic, std::chrono::nanoseconds length,
                          std::size_t rows = 0, Messages messages = Messages::kShown);
  // The last `most` of them.
  Result<ExceptionsAnswer> exceptions(const LiveWho& who, std::size_t most,
                                      Messages messages = Messages::kShown);
  Result<std::string> follow(const LiveWho& who, const std::vector<FeedRequest>& requests,
                             std::shared_ptr<Follower> follower,
                             std::optional<std::string> after = {});
  // For who follows several: what the ids of its items look like.
  Result<std::shared_ptr<LiveProcess>> process(const LiveWho& who);

  bool knows(pid_t pid) const;  // also one that has ended
  // From counters that are read already: opens nothing, waits for nothing.
  RequestRate request_rate(const LiveWho& who) const;

  FeedRequest counters_of(std::vector<hub::CounterRequest> counters = {}) const;  // none: all
  const LiveSetting& setting() const { return setting_; }

  struct Status {
    LiveSource source{};
    LiveProcess::Status process{};
  };
  std::vector<Status> status() const;

 private:
  struct Slot {
    std::mutex mutex;
    std::shared_ptr<LiveProcess> process;
  };
  LiveSource source_of(const LiveProcess& process, const Feed& feed) const;
  LiveProcess::Names names_of(LiveProcess& process);
  void wait_for_names(const LiveWho& who, LiveProcess& process);
  std::vector<std::shared_ptr<LiveProcess>> all() const;
  void tick(const std::stop_token& stop);
  void keep(const std::stop_token& stop);

  const LiveSetting setting_;
  mutable std::mutex mutex_;
  std::condition_variable_any work_;
  std::map<std::string, std::shared_ptr<Slot>> slots_;  // by LiveWho::key()
  std::map<pid_t, TraceTime> names_asked_;
  ops::LiveNames live_names_;
  std::jthread ticker_, keeper_;  // last: end first
};

// One that has just begun is left alone for a moment.
Result<LiveTarget> find_live_target(const LiveWho& who);

// Whether it was refused because so many are followed already: later there may be room.
bool is_limit(const Error& error);

}  // namespace clrscope::live
