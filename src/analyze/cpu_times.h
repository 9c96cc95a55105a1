// Where processors spent their time, by what the kernel sampled: by method, module, kind of code,
// thread and process.
#pragma once

#include <array>
#include <map>
#include <string>
#include <vector>

#include "analyze/universal_samples.h"

namespace clrscope::analyze {

class CpuTimes {
 public:
  struct Times {
    SampleSum self;
    SampleSum total;  // what stands twice in a stack counts once
  };

  explicit CpuTimes(SourceLines* lines = nullptr) : frames_(lines) {}

  void on_batch(const nettrace::Reader& reader, const nettrace::Batch& batch) {
    source_.on_batch(reader, batch);
  }
  void end_of_trace(const nettrace::Reader& reader);

  bool any() const { return source_.cpu_samples() > 0; }
  bool by_agent() const { return source_.by_agent(); }   // not by the kernel
  const SampleSum& samples() const { return samples_; }  // without those of idle processors
  std::uint64_t idle() const { return idle_; }           // samples of the kernel's process 0
  const SampleSum& without_stack() const { return without_stack_; }
  const FrameTable& frames() const { return frames_; }
  const std::vector<Times>& by_frame() const { return by_frame_; }  // by FrameId
  const SampleSum& by_kind(FrameKind kind) const {
    return by_kind_[static_cast<std::size_t>(kind)];
  }
  const std::map<std::string, Times>& by_module() const { return by_module_; }
  const std::vector<SampledThread>& threads() const { return source_.threads(); }
  const std::vector<SampleSum>& by_thread() const { return by_thread_; }  // as threads()

  // The frames that occur, most self (or total) first.
  std::vector<FrameId> ranked(bool by_total) const;

  std::chrono::nanoseconds period() const { return source_.period(); }
  const TraceSpan& span() const { return source_.span(); }
  double seconds() const { return span().seconds(); }
  double busy() const;  // processors, on average; 0 when the traces do not say their rate

 private:
  void add(const StackSamples& samples, std::span<const FrameId> frames);

  FrameTable frames_;
  UniversalSamples source_{frames_, Wanted::kCpu};
  SampleSum samples_, without_stack_;
  std::uint64_t idle_ = 0;
  std::vector<Times> by_frame_;
  std::array<SampleSum, kFrameKinds> by_kind_{};
  std::map<std::string, Times> by_module_;
  std::vector<SampleSum> by_thread_;
  std::vector<std::uint32_t> last_in_;  // by frame: the turn that counted it last
  std::uint32_t turn_ = 0;
};

}  // namespace clrscope::analyze
