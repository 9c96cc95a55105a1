// The events and CPU samples of one recording, summarised as evidence.
#pragma once

#include "analyze/collections.h"
#include "analyze/contention.h"
#include "analyze/exceptions.h"
#include "analyze/pool_changes.h"
#include "analyze/profile_builder.h"
#include "analyze/report.h"
#include "doctor/evidence.h"

namespace clrscope::doctor {

class TraceEvidence {
 public:
  void on_batch(const analyze::TraceReader& reader, const analyze::TraceBatch& batch);
  void end_of_trace(const analyze::TraceReader& reader);

  // Whether a runtime said anything: each session ends with its names at least.
  bool told() const { return told_; }
  EventFacts events() const;
  // Nothing when the trace has no sample of a running thread.
  std::optional<CpuFacts> cpu() &&;

 private:
  analyze::Exceptions exceptions_;
  analyze::Contention contention_;
  analyze::PoolChanges pool_;
  analyze::Collections collections_;
  analyze::KnownEvents known_;
  analyze::ProfileBuilder profile_;
  analyze::Providers providers_;
  bool by_kernel_ = false;
  bool told_ = false;
  std::uint64_t lost_ = 0;
};

// Of a profile's running samples. Its own function, so that a test can make a profile by hand.
std::optional<CpuFacts> cpu_facts(const analyze::Profile& profile, bool by_kernel);

}  // namespace clrscope::doctor
