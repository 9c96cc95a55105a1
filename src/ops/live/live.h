// Everything that shows running processes continuously: counters with their history, curated views,
// logs, streams.
//
// The first who asks for a thing opens a session in the process and waits at most two intervals;
// all who ask for the same share it; it is kept for some minutes after the last asker. Nothing
// asked: no session in any process. A process that ended keeps what it told for as long, and says
// so. All of it is bounded, and what is left out is counted. Any thread; calls that open a session
// wait for the process.
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
#include "ops/live/live_process.h"
#include "ops/live_names.h"
#include "ops/target.h"

namespace clrscope::ops {

// The process that is asked about: by its pid, or by its uid where it connected to a port of ours.
struct LiveWho {
  LiveWho(pid_t its_pid) : pid(its_pid), target{.pid = its_pid} {}  // NOLINT: a pid says it all
  LiveWho(pid_t its_pid, TargetWish how) : pid(its_pid), target(std::move(how)) {}

  pid_t pid;
  TargetWish target;
  std::string key() const { return target.uid.value_or(std::to_string(pid)); }
};

struct LiveSetting {
  LiveLimits limits{};
  std::chrono::nanoseconds interval{std::chrono::seconds{1}};  // of counters
  std::size_t processes = 64;
  // Who reaches a process; unless told: its diagnostic port.
  std::function<Result<LiveTarget>(const LiveWho& who)> find{};
};

// What every answer says of where it comes from.
struct LiveSource {
  pid_t pid = 0;
  std::string process{};
  std::string runtime{};
  WallTime since{};     // it is watched
  std::string ended{};  // why it tells nothing any more; empty: it does
  std::optional<WallTime> ended_at{};
  std::uint64_t lost = 0;      // events that the runtime lost
  std::uint64_t left_out = 0;  // for lack of room, or of speed
};
void write_members(JsonWriter& json, const LiveSource& source);

struct CountersAsk {
  std::vector<hub::CounterWish> counters{};  // only these; empty: all
  CounterHistory::Choice choice{};           // of them
  std::chrono::nanoseconds length{};         // of the history
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

struct ViewAnswer {
  LiveSource source{};
  WallTime from{};        // of what is shown
  std::string summary{};  // one sentence
  std::string members{};  // of a JSON object, without its braces
  analyze::Page page{};
};

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
  Result<std::string> follow(const LiveWho& who, const std::vector<FeedWish>& wishes,
                             std::shared_ptr<Follower> follower,
                             std::optional<std::string> after = {});
  // For who follows several: what the ids of its items look like.
  Result<std::shared_ptr<LiveProcess>> process(const LiveWho& who);

  bool knows(pid_t pid) const;  // also one that has ended

  FeedWish counters_of(std::vector<hub::CounterWish> counters = {}) const;  // none: all
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
  LiveNames live_names_;
  std::jthread ticker_, keeper_;  // last: end first
};

// One that has just begun is left alone for a moment.
Result<LiveTarget> find_live_target(const LiveWho& who);

// Whether it was refused because so many are followed already: later there may be room.
bool is_limit(const Error& error);

}  // namespace clrscope::ops
