// Keeps a hub supplied with the processes that are wanted, as they come and go.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "hub/hub.h"
#include "ops/target.h"

namespace clrscope::ops {

struct WatchWish {
  std::vector<pid_t> pids{};
  std::vector<std::string> names{};  // with * and ?
  bool all = false;                  // every .NET process that may be reached
  // Or one target as other verbs have it: a command, a diagnostic port.
  TargetWish target{};

  bool comes_and_goes() const { return all || !names.empty(); }
};

class Watch {
 public:
  // Attaches what is there. A pid that cannot be reached is an error; names may come later.
  static Result<std::unique_ptr<Watch>> start(hub::Hub& hub, const WatchWish& wish, int stop_fd);

  // From now on these are wanted: who no longer is is let go, who is new is attached. A pid that
  // cannot be reached is trouble, no error.
  void rewish(std::vector<pid_t> pids, std::vector<std::string> names, bool all);

  // Looks who came and who went; about once a second. False when nobody is left and nobody may
  // come.
  bool look();

  std::size_t attached() const { return attached_.size(); }
  // Why some process could not be attached: the last one's reason, until it is asked.
  std::string take_trouble() { return std::exchange(trouble_, {}); }
  // Its exit code when we started it and it has ended.
  Child* child() { return target_ ? target_->child.get() : nullptr; }

 private:
  struct Attached {
    std::uint64_t source = 0;
    std::uint64_t start_ticks = 0;  // with the pid it names a process for ever
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
  Watch(hub::Hub& hub, WatchWish wish) : hub_(hub), wish_(std::move(wish)) {}
  Result<> attach(const Process& process, std::shared_ptr<ipc::Endpoint> endpoint);
  Result<> attach_pid(pid_t pid);
  bool wants(const std::string& name) const;
  bool lives(pid_t pid, const Attached& one) const;

  hub::Hub& hub_;
  WatchWish wish_;
  std::optional<Target> target_;
  std::map<pid_t, Attached> attached_;
  std::map<pid_t, Refusal> refused_;
  std::uint64_t next_source_ = 1;
  std::string trouble_;
  bool told_unreachable_ = false;  // of one that has the name
};

// Lets the hub work until it is told to stop, its time is over, or nobody is left to watch. What
// ended it: "signal", "duration", "target ended".
std::string watch_until_end(Watch& watch, std::span<const int> stop_fds,
                            std::optional<std::chrono::nanoseconds> duration,
                            const std::function<void(const std::string&)>& on_trouble = {});

}  // namespace clrscope::ops
