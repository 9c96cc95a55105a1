// In which methods the samples of a trace lie: alone (self) and with all they called (total).
//
// Samples are counted by stack while they are read and get their names at the end of each trace, so
// memory grows with distinct stacks, not with samples.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "analyze/samples.h"
#include "analyze/stacks.h"
#include "analyze/symbolizer.h"

namespace clrscope::analyze {

class MethodTimes {
 public:
  struct Count {
    SampleSum all;
    SampleSum running;
    SampleSum waiting;
  };
  struct Times {
    Count self;
    Count total;  // a method that stands twice in a stack counts once
  };

  explicit MethodTimes(SourceLines* lines = nullptr) : frames_(lines) {}

  void on_batch(const nettrace::Reader& reader, const nettrace::Batch& batch);
  void end_of_trace();

  const Count& samples() const { return samples_; }
  std::uint64_t without_stack() const { return without_stack_; }
  // Samples whose state was derived from the top method: see SamplerTrust.
  std::uint64_t judged_by_top() const { return judged_by_top_; }
  // Samples of running threads only, taken by the kernel or, where the trace says so, by the agent.
  std::uint64_t by_kernel() const { return by_kernel_; }
  std::uint64_t by_agent() const { return by_agent_; }  // of those
  const FrameTable& frames() const { return frames_; }
  const std::vector<Times>& times() const { return times_; }  // by FrameId
  // The frames that occur, most self (or total) first.
  std::vector<FrameId> ranked(bool by_total) const;

 private:
  struct Trace {  // what belongs to the one being read
    explicit Trace(FrameTable& frames) : symbols(frames) {}
    Providers providers;
    Stacks stacks;
    Symbolizer symbols;
    SamplerTrust trust;
    std::vector<Count> counts;         // by StackId: the runtime's samples
    std::vector<Count> kernel_counts;  // those of the kernel, used where there are no others
    bool agent = false;                // which are the agent's in fact
  };
  void count(const nettrace::Reader& reader, const Event& event, Provider provider);

  FrameTable frames_;
  std::optional<Trace> trace_;
  Count samples_;
  std::uint64_t without_stack_ = 0;
  std::uint64_t judged_by_top_ = 0;
  std::uint64_t by_kernel_ = 0;
  std::uint64_t by_agent_ = 0;
  std::vector<Times> times_;
};

}  // namespace clrscope::analyze
