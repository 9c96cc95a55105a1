// Examines a live process or a core: gathers evidence and evaluates every finding.
//
// Two sources run in parallel, so that a silent runtime does not delay what its memory shows:
// snapshots of threads and locks about once a second, and one recording of runtime events and CPU
// samples. What is unavailable is reported, with the reason.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "doctor/answer.h"
#include "doctor/examination.h"
#include "inspect/thread_stacks.h"
#include "ops/sampler.h"
#include "ops/target.h"

namespace clrscope::ops {

// Words of rooms below that are part of this interface.
using doctor::answer_of;
using doctor::ExaminationAnswer;
using doctor::ExaminedAnswer;
using doctor::explanation;
using doctor::FindingAnswer;
using doctor::findings;
using doctor::Outcome;
using doctor::registry_json;
using FoundAnswer = doctor::ReportAnswer;  // a finding of an examination
using doctor::select;
using doctor::Severity;
using doctor::to_json;
using inspect::StopPolicy;

struct ExamineRequest {
  TargetRequest target{};               // a command excepted
  std::string core{};                   // or a core's path
  std::vector<std::string> only{};      // ids; empty: all
  std::vector<std::string> settings{};  // "CS1501.perSecond=10"
  std::optional<std::chrono::nanoseconds> duration{};
  Sampler sampler = Sampler::kBest;  // of the hot path; an agent is loaded for kAgent only
  bool recording = true;             // false: no events and samples, whatever the findings need
  std::chrono::nanoseconds between_snapshots{std::chrono::seconds{1}};
  inspect::StopPolicy stop = inspect::StopPolicy::kBriefly;  // of threads that run
  bool messages = true;             // of exceptions: what the program said in them
  std::span<const int> stop_fds{};  // one of them readable: conclude from what there is
};

struct ExamineStatus {
  std::chrono::nanoseconds elapsed{};
  std::chrono::nanoseconds whole{};
  std::size_t snapshots = 0;
  std::uint64_t events = 0;
  bool concluding = false;  // the watching is over: names are collected, evidence is weighed
};

struct ExamineWatcher {
  std::function<void(const ExamineStatus&)> on_status{};  // about five times a second
};

// What one examination of a live process leaves for the next of the same: its memory as it was
// opened, the worker of older runtimes, what its files say. One thread at a time.
class Bedside {
 public:
  Bedside();
  ~Bedside();
  Bedside(Bedside&&) noexcept;
  Bedside& operator=(Bedside&&) noexcept;

  struct Kept;
  Kept& kept() { return *kept_; }

 private:
  std::unique_ptr<Kept> kept_;
};

// `bedside`: null: nothing is kept.
Result<doctor::Examination> examine(const ExamineRequest& request, const ExamineWatcher& watcher,
                                    Bedside* bedside = nullptr);

// What one look tells, at no price worth mentioning: no events, no samples, no waiting.
std::vector<std::string> quick_findings();

}  // namespace clrscope::ops
