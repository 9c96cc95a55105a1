// Adds and removes the selected processes of a hub as they start and end.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "collect/stop_reason.h"
#include "hub/hub.h"
#include "ops/target.h"

namespace clrscope::ops {

// Words of rooms below that are part of this interface.
using hub::MeterLimits;

struct WatchRequest {
  std::vector<pid_t> pids{};
  std::vector<std::string> names{};  // with * and ?
  bool all = false;                  // every .NET process that may be reached
  // Or one target as other verbs have it: a command, a diagnostic port.
  TargetRequest target{};

  bool comes_and_goes() const { return all || !names.empty(); }
};

class Watch {
 public:
  // Attaches what is there. A pid that cannot be reached is an error; names may come later.
  static Result<std::unique_ptr<Watch>> start(hub::Hub& hub, const WatchRequest& request,
                                              int stop_fd);

  // From now on these are wanted: who no longer is is let go, who is new is attached. A pid that
  // cannot be reached is trouble, no error.
  void rerequest(std::vector<pid_t> pids, std::vector<std::string> names, bool all);

  // Looks who came and who went; about once a second. False when nobody is left and nobody may
  // come.
  bool refresh();

  std::size_t attached() const { return attached_.size(); }
  // Why some process could not be attached: the last one's reason, until it is asked.
  std::string take_trouble() { return std::exchange(trouble_, {}); }
  // Its exit code when we started it and it has ended.
  Child* child() { return target_ ? target_->child.get() : nullptr; }

 private:
  struct Attached {
    std::uint64_t source = 0;
    std::uint64_t start_ticks = 0;  // pid and start time identify a process
    std::string name{};
    bool foreign = false;  // its pid is of another namespace
  };
  // One that may not be asked is not asked again while it lives; one that fails otherwise is, ever
  // more rarely.
  struct Refusal {
    std::uint64_t start_ticks = 0;
    int times = 0;
    TraceTime not_before{};  // asked again then; the longer, the more often it failed
  };
  Watch(hub::Hub& hub, WatchRequest request) : hub_(hub), request_(std::move(request)) {}
  Result<> attach(const Process& process, std::shared_ptr<ipc::Endpoint> endpoint);
  Result<> attach_pid(pid_t pid);
  bool wants(const std::string& name) const;
  bool lives(pid_t pid, const Attached& one) const;

  hub::Hub& hub_;
  WatchRequest request_;
  std::optional<Target> target_;
  std::map<pid_t, Attached> attached_;
  std::map<pid_t, Refusal> refused_;
  std::uint64_t next_source_ = 1;
  std::string trouble_;
  bool told_unreachable_ = false;  // of one that has the name
};

// Runs the hub until it is stopped, its time is over, or no process is left to watch. Gives
// what stopped it: a signal, the duration, or the end of the target.
collect::StopReason watch_until_end(Watch& watch, std::span<const int> stop_fds,
                                    std::optional<std::chrono::nanoseconds> duration,
                                    const std::function<void(const std::string&)>& on_trouble = {});

}  // namespace clrscope::ops
