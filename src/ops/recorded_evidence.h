// The recording beside the snapshots: runtime events and CPU samples of one process, on a thread of
// its own, read when it is done. Inside ops only: see examine.h.
#pragma once

#include <atomic>
#include <chrono>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "base/fd.h"
#include "base/result.h"
#include "doctor/evidence.h"
#include "ops/sampler.h"
#include "ops/side_sessions.h"
#include "ops/target.h"

namespace clrscope::ops {

struct Recorded {
  std::optional<doctor::EventFacts> events{};
  std::optional<doctor::CpuFacts> cpu{};
  std::string no_events{};  // why not, and the remedy
  std::string no_cpu{};
  std::chrono::nanoseconds silent{};  // the runtime was asked, and said nothing for so long
  std::optional<ProgramCost> cost{};
  std::vector<std::string> notes{};
};

class RecordedEvidence {
 public:
  // `side`: null: none. They get the names of methods, when they have ended.
  RecordedEvidence(TargetRequest target, std::chrono::nanoseconds duration, Sampler sampler,
                   SideSessions* side);
  ~RecordedEvidence();
  RecordedEvidence(const RecordedEvidence&) = delete;
  RecordedEvidence& operator=(const RecordedEvidence&) = delete;

  std::uint64_t events() const { return seen_; }  // so far
  bool done() const { return done_; }
  void stop();      // ends it early; what there is counts
  Recorded take();  // waits for the end

 private:
  void run();
  Result<> record(int file);

  TargetRequest target_;
  Sampler sampler_;
  std::chrono::nanoseconds duration_;
  SideSessions* side_;
  UniqueFd stop_;
  Recorded recorded_;  // the thread's until it is joined
  std::atomic<std::uint64_t> seen_ = 0;
  std::atomic<bool> done_ = false;
  std::jthread thread_;  // last: joins first
};

}  // namespace clrscope::ops
