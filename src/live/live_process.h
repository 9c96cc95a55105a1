// One process that is watched live: its hub, its feeds and their followers.
//
// Each process has a hub of its own, so that one that does not answer does not delay the others.
// Any thread may call; opening or closing a session may take as long as the process takes to
// answer.
#pragma once

#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/fd.h"
#include "base/guarded.h"
#include "hub/hub.h"
#include "live/code_lines.h"
#include "live/counter_history.h"
#include "live/event_cpu.h"
#include "live/feed.h"

namespace clrscope::live {

struct LiveLimits {
  std::chrono::nanoseconds keep{std::chrono::minutes{5}};  // a feed, after the last asker
  WindowLimits window{};
  CounterHistory::Limits counters{};
  std::size_t feeds = 24;        // of a process
  std::size_t followers = 1000;  // of a process
  std::size_t replay_bytes = 2 << 20;
  std::chrono::nanoseconds settle{hub::Hub::kSettle};
};

// What errors say that come of these.
inline constexpr std::string_view kLimitHint =
    "another one is possible after one has not been requested for a while";

struct LiveTarget {
  std::shared_ptr<hub::Source> source{};
  std::uint64_t start_ticks = 0;  // with the pid it identifies a process; 0: unknown
  CodeLines::Open open_lines{};   // empty: no source lines
};

class LiveProcess {
 public:
  using Names = std::shared_ptr<const std::vector<std::uint8_t>>;

  static Result<std::shared_ptr<LiveProcess>> start(LiveTarget target, const LiveLimits& limits);
  ~LiveProcess();

  const hub::SourceInfo& info() const { return *info_; }
  std::uint64_t start_ticks() const { return target_.start_ticks; }
  std::string ended() const;  // why it no longer tells anything; empty: it does
  std::optional<WallTime> ended_at() const;

  // The feed, opened if it is not there. Of a process that has ended only those that were.
  Result<std::shared_ptr<Feed>> ask(const FeedRequest& request);
  // Waits until the feed has told something, or the process has ended.
  void wait_for(const Feed& feed, std::chrono::nanoseconds patience);

  // `after`: the id of the last thing it has seen; nothing: only what comes.
  Result<> follow(const std::vector<FeedRequest>& requests, std::shared_ptr<Follower> follower,
                  std::optional<std::string> after);
  // "1763212345678-42"
  std::string id_text(std::uint64_t id) const;

  const CounterHistory& counters() const { return counters_; }
  bool reads_counters() const;

  Names names() const;
  void set_names(Names names);

  // Source lines for one answer. Of a process that has ended, what is known.
  LineAt lines() { return lines_.for_answer(); }

  void tick();           // followers; four times a second
  bool keep_or_close();  // closes what nobody asked for lately; false: nothing is left
  bool lives();          // looks whether it is still there; tells followers when it is not

  struct FeedStatus {
    std::string key{};
    std::size_t followers = 0;
    std::uint64_t told = 0, dropped = 0, left_out = 0;
  };
  struct Status {
    std::size_t sessions = 0;
    std::uint64_t events = 0, lost = 0;
    std::optional<std::chrono::nanoseconds> event_cpu{};  // of the process: see event_cpu.h
    std::string event_cpu_unknown{};
    std::vector<FeedStatus> feeds{};
  };
  Status status() const;
  hub::SessionSummary summary(const Feed& feed) const;  // after the end: what was lost in all

 private:
  class FeedSink;
  struct Following {
    std::shared_ptr<Follower> follower;
    std::vector<std::shared_ptr<Feed>> feeds;
  };

  LiveProcess(LiveTarget target, const LiveLimits& limits);
  Result<std::shared_ptr<Feed>> open(const FeedRequest& request);
  bool seems_alive();
  void end(const std::string& why);
  void publish(Feed& feed, std::vector<LiveItem> items);
  void hand_out(const Feed& feed, const LiveItemPtr& item);
  void let_go(Following& following);

  const LiveTarget target_;
  const std::shared_ptr<const hub::SourceInfo> info_;
  const LiveLimits limits_;
  const UniqueFd process_;  // none: another namespace, or an old kernel
  const std::uint64_t epoch_;
  CounterHistory counters_;
  Guarded<Names> names_;
  CodeLines lines_;
  EventCpu event_cpu_;

  std::mutex changes_;        // while feeds are opened or closed
  mutable std::mutex state_;  // inside of it, for the moment; all below
  std::condition_variable news_;
  std::map<std::string, std::shared_ptr<Feed>> feeds_;
  std::vector<Following> followers_;
  std::uint64_t next_id_ = 1;
  std::string ended_;
  std::optional<WallTime> ended_at_;
  std::uint64_t lost_ = 0;  // of feeds that are no more
  TraceTime silent_{};      // since then a session has ended; TraceTime{}: none has

  std::shared_ptr<hub::Hub> hub_;  // last: ends first
};

}  // namespace clrscope::live
