// The process an operation is about: looked up by pid or name, reached through a diagnostic port,
// or started by us.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "ipc/endpoint.h"
#include "model/process.h"
#include "ops/child.h"

namespace clrscope::ops {

// Exactly one of these names the target.
struct TargetWish {
  std::optional<pid_t> pid{};
  std::optional<std::string> name{};
  std::optional<std::string> diagnostic_port{};  // "path[,connect|listen]"
  std::vector<std::string> command{};
  bool show_child_io = true;
};

struct Target {
  Process process;
  std::unique_ptr<ipc::ReversePort> port{};  // before the endpoint, which must not outlive it
  std::unique_ptr<ipc::Endpoint> endpoint;
  std::unique_ptr<Child> child{};  // when we started it
  bool suspended = false;          // it waits at its start for resume_runtime()
};

// `patience` bounds the wait for a runtime that has yet to connect; `stop_fd` becoming readable
// ends it too (-1: none).
Result<Target> find_target(const TargetWish& wish, std::chrono::nanoseconds patience, int stop_fd);

}  // namespace clrscope::ops
