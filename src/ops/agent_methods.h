// Calls and times of methods, measured with probes that the agent puts into their code.
#pragma once

#include "analyze/unmeasured_method.h"
#include "ops/agent.h"

namespace clrscope::ops {

struct MeasuredMethod {
  std::string method{};
  std::uint64_t calls = 0;    // that ended
  std::uint64_t running = 0;  // that had not ended
  std::chrono::nanoseconds total{};
  std::chrono::nanoseconds self{};
  std::chrono::nanoseconds mean{};
  std::chrono::nanoseconds shortest{};
  std::chrono::nanoseconds longest{};
};
const Shape& shape_of(const MeasuredMethod*);

struct AgentMethods {
  pid_t pid = 0;
  std::chrono::nanoseconds duration{};
  std::uint64_t chosen = 0;    // methods that the patterns mean
  std::uint64_t measured = 0;  // of them, those that were called
  std::uint64_t calls = 0;
  std::vector<MeasuredMethod> methods{};
  std::vector<analyze::UnmeasuredMethod> not_measured{};
  std::uint64_t not_measured_count = 0;
  std::uint32_t modules = 0;
  std::uint32_t skipped_modules = 0;
  std::uint32_t skipped_trivial = 0;
  std::uint32_t skipped_small = 0;
  std::uint32_t compiled_again = 0;
  std::uint64_t not_counted = 0;
  bool reverted = false;
  std::chrono::nanoseconds applied_in{};
};
const Shape& shape_of(const AgentMethods*);
Document methods_document(const AgentMethods& seen);

struct MethodsRequest {
  ListenRequest listen{};
  std::vector<std::string> include{};
  std::vector<std::string> exclude{};
  std::uint32_t smallest_il = 0;
  double share_percent = 2;  // of one processor, for the probes of one method; 0: any
  bool with_accessors = false;
  bool closed = false;  // put the probes in, and count nothing
};
// Attaches the agent if it is not there. It stays afterwards: the runtime does not let a profiler
// leave that has changed code.
Result<AgentMethods> agent_methods(const MethodsRequest& request);

}  // namespace clrscope::ops
