// The hub: many processes on one side, many listeners on the other, and between them as few runtime
// sessions as their wishes allow.
//
// A listener's wish for a provider is served by one session: one that is there and covers it, or a
// new one for all that is missing. So nobody sees an event twice, nobody gets what only others
// asked for, and those who were there notice nothing when others come and go. A session that serves
// nobody is closed: without listeners nothing is left in a process. Any thread may call.
// How it was found out: docs/sessions.md
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/result.h"
#include "hub/listener.h"
#include "hub/source.h"

namespace clrscope::hub {

enum class ListenerId : std::uint64_t {};

class Hub {
 public:
  // Of which processes a listener wants to hear.
  using Chooses = std::function<bool(const SourceInfo&)>;

  Hub();
  ~Hub();
  Hub(const Hub&) = delete;
  Hub& operator=(const Hub&) = delete;

  // Fails when a process that is there refuses; then nothing has changed.
  Result<ListenerId> add(SessionWish wish, std::unique_ptr<Sink> sink, Chooses chooses = {});
  // Its sink is closed when this returns.
  SessionSummary remove(ListenerId id);
  std::vector<std::pair<ListenerId, SessionSummary>> summaries() const;

  // A process came; listeners that want it are served from now on.
  Result<> attach(std::shared_ptr<Source> source);
  void detach(std::uint64_t source_id);

  struct ProcessStatus {
    std::shared_ptr<const SourceInfo> source{};
    std::size_t sessions = 0;
    std::uint64_t events = 0;    // read
    std::uint64_t unwanted = 0;  // of them asked for by nobody
    std::string ended{};         // why it no longer tells anything; empty: it does
  };
  std::vector<ProcessStatus> processes() const;

 private:
  struct Tie;            // a listener's wish for a provider, served by a session
  struct Routes;         // who gets what from a session; replaced, never changed
  class RuntimeSession;  // one session in one process
  struct Attached;

  struct Listening {
    std::shared_ptr<Listener> listener;
    Chooses chooses;
  };

  Result<> serve(Attached& process, ListenerId id, const Listening& listening);
  void stop_serving(Attached& process, ListenerId id);
  void reroute(RuntimeSession& session) const;

  mutable std::mutex mutex_;
  std::map<ListenerId, Listening> listeners_;
  std::vector<std::unique_ptr<Attached>> processes_;
  std::uint64_t next_ = 1;
};

}  // namespace clrscope::hub
