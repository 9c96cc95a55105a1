// The process an operation is about: looked up by pid or name, reached through a diagnostic port,
// or started by us.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "ipc/endpoint.h"
#include "model/process.h"
#include "ops/child.h"

namespace clrscope::ops {

class Runtimes;

// Exactly one of these names the target.
struct TargetRequest {
  std::optional<pid_t> pid{};
  std::optional<std::string> name{};
  std::optional<std::string> diagnostic_port{};  // "path[,connect|listen]"
  std::optional<std::string> uid{};              // of one that connected to `runtimes`
  std::vector<std::string> command{};
  std::map<std::string, std::string> environment{};  // of the command, beside ours
  bool show_child_io = true;
  std::shared_ptr<Runtimes> runtimes{};  // with uid
};

struct Target {
  Process process;
  std::shared_ptr<Runtimes> runtimes{};      // whose port the endpoint is of
  std::unique_ptr<ipc::ReversePort> port{};  // before the endpoint, which must not outlive it
  std::unique_ptr<ipc::Endpoint> endpoint;
  std::unique_ptr<Child> child{};  // when we started it
  bool suspended = false;          // it waits at its start for resume_runtime()
};

// The path of "path[,connect|listen|…]" and whether it is we who listen.
struct PortWords {
  std::string path;
  bool listens = false;
  mode_t mode = 0600;  // of the socket that we listen on: "group" and "all" let others connect
};
Result<PortWords> parse_port(const std::string& text);

// `patience` bounds the wait for a runtime that has yet to connect; `stop_fd` becoming readable
// ends it too (-1: none).
Result<Target> find_target(const TargetRequest& request, std::chrono::nanoseconds patience,
                           int stop_fd);

}  // namespace clrscope::ops
