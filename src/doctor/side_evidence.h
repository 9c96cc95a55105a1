// The events of a session beside the recording, summarised as evidence. The names of its methods
// come from the recording: give it that trace's events too, when the session has ended.
#pragma once

#include <memory>

#include "analyze/report.h"
#include "doctor/evidence.h"

namespace clrscope::doctor {

class SideEvidence {
 public:
  virtual ~SideEvidence() = default;
  virtual void on_batch(const analyze::TraceReader& reader, const analyze::TraceBatch& batch) = 0;
  // Of the recording of the same process.
  virtual void on_names(const analyze::TraceBatch& batch) = 0;
  virtual void end(const analyze::TraceReader& reader) = 0;
  // After end().
  virtual void add_to(Evidence& evidence, std::chrono::nanoseconds length, bool cut) const = 0;
  virtual void add_reason(Evidence& evidence, const std::string& why_not) const = 0;
};

std::unique_ptr<SideEvidence> make_call_evidence();
std::unique_ptr<SideEvidence> make_command_evidence();
std::unique_ptr<SideEvidence> make_allocation_evidence();

}  // namespace clrscope::doctor
