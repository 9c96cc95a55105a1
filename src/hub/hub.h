// The hub: many processes on one side, many listeners on the other, and between them as few runtime
// sessions as their requests allow.
//
// A listener's request for a provider is served by one session: one that is there and covers it, or
// a new one for all that is missing. So nobody sees an event twice, nobody gets what only others
// asked for, and those who were there notice nothing when others come and go. Some time after the
// last change the sessions are replaced by fewer or narrower ones where that can be, again without
// anybody's notice (switch_over.h). A session that serves nobody is closed: without listeners
// nothing is left in a process. Any thread may call. How it was found out: docs/sessions.md
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/result.h"
#include "hub/listener.h"
#include "hub/runtime_session.h"
#include "hub/session_plan.h"
#include "hub/source.h"

namespace clrscope::hub {

class Hub {
 public:
  // So long after the last change the sessions are looked over.
  static constexpr std::chrono::seconds kSettle{2};

  // Of which processes a listener wants to hear.
  using Chooses = std::function<bool(const SourceInfo&)>;

  explicit Hub(std::chrono::nanoseconds settle = kSettle);
  ~Hub();
  Hub(const Hub&) = delete;
  Hub& operator=(const Hub&) = delete;

  // Fails when a process that is there refuses; then nothing has changed.
  Result<ListenerId> add(SessionRequest request, std::unique_ptr<Sink> sink, Chooses chooses = {});
  // Its sink is closed when this returns.
  SessionSummary remove(ListenerId id);
  std::vector<std::pair<ListenerId, SessionSummary>> summaries() const;

  // A process came; listeners that want it are served from now on.
  Result<> attach(std::shared_ptr<Source> source);
  void detach(std::uint64_t source_id);

  struct ProcessStatus {
    std::shared_ptr<const SourceInfo> source{};
    std::size_t sessions = 0;
    std::uint64_t switches = 0;  // so often sessions were replaced by others
    std::uint64_t events = 0;    // read
    std::uint64_t unwanted = 0;  // of them asked for by nobody
    std::string ended{};         // why it no longer tells anything; empty: it does
  };
  std::vector<ProcessStatus> processes() const;

  // Replaces sessions by fewer or narrower ones now; happens by itself when things have settled.
  // Fails when a process refuses; then all is as it was.
  Result<> consolidate();

  // Asks the processes anew what in them tells counters, for those who want some by a pattern;
  // happens by itself every kLook.
  void look_for_counters();
  static constexpr std::chrono::seconds kLook{60};

 private:
  struct Listening {
    std::shared_ptr<Listener> listener;
    Chooses chooses;
  };
  using Sessions = std::vector<std::unique_ptr<RuntimeSession>>;
  struct Attached {
    std::shared_ptr<Source> source;
    std::map<ListenerId, std::vector<ProviderRequest>> requests{};
    Sessions sessions{};
    std::uint64_t events = 0, unwanted = 0;  // of sessions that are no more
    std::uint64_t switches = 0;
    TraceTime not_before{};                           // it refused: not to be asked again so soon
    std::optional<CounterSources> counter_sources{};  // asked for where somebody has a pattern
  };

  Result<> serve(Attached& process, ListenerId id, const Listening& listening);
  // Its requests from the first of these places on.
  Result<> serve_requests(Attached& process, ListenerId id, std::size_t first);
  void serve_new_counters(Attached& process);
  void stop_serving(Attached& process, ListenerId id);
  Need need_of(const Attached& process, const RuntimeSession::Tie& tie) const;
  // Where the runtime puts the next session: it takes the first free place, and writes an event to
  // its sessions in their order. Right as long as other tools neither come nor go meanwhile.
  static std::size_t free_place(const Attached& process, const Sessions& fresh = {});
  static Sessions take_out(Attached& process, const std::function<bool(RuntimeSession&)>& which);
  void reroute(const Attached& process, RuntimeSession& session) const;
  Result<> consolidate(Attached& process);
  Result<> switch_over(Attached& process, const std::vector<RuntimeSession*>& old, Sessions fresh);
  void settled(const std::stop_token& stop);
  void changed();

  const std::chrono::nanoseconds settle_;
  // The first for changes, which may take as long as a process takes to answer; the second, inside
  // of it, for the moment in which the lists change.
  std::mutex mutex_;
  mutable std::mutex view_;
  std::map<ListenerId, Listening> listeners_;
  std::vector<std::unique_ptr<Attached>> processes_;
  std::uint64_t next_ = 1;
  std::condition_variable_any change_;
  std::optional<TraceTime> due_, look_due_;  // under mutex_, like all of these
  std::jthread settler_;                     // last member: joins first
};

}  // namespace clrscope::hub
