// Starts a command whose .NET runtime waits for us at startup, so that no event is missed.
//
// The runtime connects to a private port of ours and stays suspended until resumed. Other runtimes
// that the command starts meanwhile are resumed at once. The variable that makes them connect is
// removed from the runtime's environment before it runs, so that what it starts later does not wait
// for us.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/fd.h"
#include "base/result.h"
#include "ipc/endpoint.h"

namespace clrscope::ops {

class Child {
 public:
  // `more`: variables beside those of our environment. With show_io the child has our console;
  // without it, nothing of what it says is shown.
  static Result<std::unique_ptr<Child>> start(const std::vector<std::string>& command, bool show_io,
                                              const std::map<std::string, std::string>& more = {});
  ~Child();  // lets go whatever still waits for us; does not end the child

  pid_t pid() const { return pid_; }
  // The first runtime that connects, suspended. The command ending before that is an error that
  // says so.
  Result<ipc::Advertisement> wait_for_runtime(std::chrono::nanoseconds patience, int stop_fd);
  ipc::ReversePort& port() { return *port_; }
  // Takes the port's variable out of that runtime's environment and lets it run. Later ones are let
  // go by themselves.
  Result<> resume(ipc::Endpoint& runtime);

  void signal(int number) const;
  // The exit code as a shell has it (128 + signal), once it ended; waits at most that long.
  std::optional<int> wait(std::chrono::nanoseconds patience);

 private:
  Child(std::string folder, std::unique_ptr<ipc::ReversePort> port)
      : folder_(std::move(folder)), port_(std::move(port)) {}

  std::string folder_;  // private, holds the port's socket
  std::unique_ptr<ipc::ReversePort> port_;
  pid_t pid_ = 0;
  UniqueFd pid_fd_;
  std::optional<int> exit_code_;
  std::jthread let_others_go_;  // last: joins before the port goes
};

}  // namespace clrscope::ops
