// Sessions beside the doctor's recording, for events that may be many: outgoing calls, database
// commands, sampled allocations.
//
// Each has a budget of the process's time, and ends when it is spent: what it has seen until then
// is a sample. No names are asked for: the recording has them. Inside ops only: see examine.h.
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/fd.h"
#include "doctor/side_evidence.h"
#include "ipc/commands.h"
#include "ops/target.h"

namespace clrscope::ops {

struct SideWants {
  bool calls = false;
  bool commands = false;
  bool allocations = false;
  bool generous = false;  // somebody asked for these by name: they may cost more

  bool any() const { return calls || commands || allocations; }
};

class SideSessions {
 public:
  SideSessions(TargetRequest target, SideWants wants, std::chrono::nanoseconds duration);
  ~SideSessions();
  SideSessions(const SideSessions&) = delete;
  SideSessions& operator=(const SideSessions&) = delete;

  void stop();    // ends them early; what there is counts
  void finish();  // waits for their end

  // The rest after finish().
  // An event of the recording, which may name methods.
  void on_names(const nettrace::Batch& batch);
  void add_to(doctor::Evidence& evidence);

 private:
  class One;
  // What an event costs the thread that causes it, without its stack, in a program that does much
  // else: several times of what it takes in a loop (`bench/run price`). Measured with an ASP.NET
  // application on a database, whose events are some 30 frames deep: docs/benchmarks.md.
  static constexpr std::uint64_t kEventNs = 5'000;

  void run();
  void open();
  One& add(std::unique_ptr<doctor::SideEvidence> evidence, std::vector<ipc::Provider> providers,
           double share, std::uint64_t event_ns = kEventNs);
  void follow_calls();
  void read_until_end(TraceTime until);

  TargetRequest target_;
  SideWants wants_;
  std::chrono::nanoseconds duration_;
  UniqueFd stop_;
  Target found_;             // before the sessions, which talk to it
  std::string unreachable_;  // why it was not found
  std::vector<std::unique_ptr<One>> sessions_;
  One* scout_ = nullptr;  // looks whether there are calls, which are dear to follow
  std::jthread thread_;   // last: joins first
};

}  // namespace clrscope::ops
