// Finds the .NET processes of a recording and opens their sessions, on a thread of its own: looking
// through /proc and waiting for answers takes long on a busy machine, and rings fill meanwhile.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/channel.h"
#include "base/clock.h"
#include "base/guarded.h"
#include "base/result.h"
#include "collect/eventpipe/event_filter.h"
#include "collect/machine/early_rundown.h"
#include "collect/machine/runtime_events.h"
#include "ipc/commands.h"
#include "ipc/discover.h"

namespace clrscope::collect {

// A session that nobody reads yet.
struct OpenedRuntime {
  enum class Role {
    kNames,   // the first of a runtime: what gives addresses names
    kEvents,  // others
    kCounts,  // its counters, where its events were too many
  };
  pid_t pid = 0;  // as we see it
  Role role = Role::kNames;
  std::string what{};        // of those that may end early
  bool while_cheap = false;  // it is one of them
  TraceTime asked = TraceClock::now();
  std::unique_ptr<ipc::Endpoint> runtime{};
  ipc::Session session{};
  EventFilter filter{};
  std::unique_ptr<EarlyRundown> early{};  // may be empty
};

class RuntimeFinder {
 public:
  struct Options {
    std::vector<pid_t> processes{};         // those, or
    bool all = false;                       // all that there are, and all that start later
    std::vector<RuntimeEvents> sessions{};  // of each; the first has the names
    std::optional<Rundown> early_names{};   // those that there are at first, in case they die
  };
  explicit RuntimeFinder(Options options);
  ~RuntimeFinder();  // sessions that nobody took are stopped

  struct Found {
    std::vector<OpenedRuntime> opened{};
    std::vector<std::string> notes{};  // of those that did not let us in
    std::optional<Error> full{};       // of one that has no session left
  };
  Found take();                // since the last call
  void expect(pid_t process);  // a runtime starts there: it is asked as soon as it may be
  void count(pid_t process);   // its counters are wanted from now on
  void settle(pid_t process);  // one of its sessions has ended: it shall not go on preparing events
  bool looked_once() const;    // everything that was there has been asked
  void stop();                 // returns when nothing is opened any more

 private:
  struct State {
    Found found{};
    bool looked_once = false;
  };
  void run(const std::stop_token& stop);
  void refresh(const std::stop_token& stop);
  void await_next_look(const std::stop_token& stop);
  void open_started(const std::stop_token& stop);
  bool is_new(const ipc::DotnetProcess& process);
  void open_new(ipc::DotnetProcess process);
  void begin(std::function<void()> work);
  void open(const ipc::DotnetProcess& process);
  static Result<OpenedRuntime> open_session(const ipc::DotnetProcess& process,
                                            const RuntimeEvents& events, OpenedRuntime::Role role);
  void open_counts(pid_t process);
  static void settle_now(pid_t process);

  Options options_;
  std::set<std::pair<pid_t, std::uint64_t>> known_;  // with their start: pids come again
  struct Starting {
    pid_t process = 0;
    TraceTime until{};  // then it is left to the next look
  };
  std::vector<Starting> starting_;
  struct Request {
    enum class What { kStarts, kCounts, kSettle };
    pid_t process = 0;
    What what = What::kStarts;
  };
  void take(const Request& request);
  Channel<Request> requests_{256};
  Guarded<State> state_;
  struct Begun {
    std::shared_ptr<std::atomic<bool>> done;
    std::jthread thread;
  };
  std::vector<Begun> begun_;           // of the worker
  std::atomic<std::size_t> busy_ = 0;  // of them
  std::jthread worker_;                // last: joins first
};

}  // namespace clrscope::collect
