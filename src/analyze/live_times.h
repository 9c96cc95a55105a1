// Where processors spend their time right now: samples counted over one interval after the other.
//
// Fed like a report, but never with a trace's end: names hold from when they come, and what an
// interval counted is forgotten with it, so that memory grows with distinct methods only. Kernel
// samples count as they are; of the runtime's own sampler, those of running threads.
#pragma once

#include <array>
#include <string>
#include <unordered_map>
#include <vector>

#include "analyze/samples.h"
#include "analyze/stacks.h"
#include "analyze/symbolizer.h"
#include "model/request.h"

namespace clrscope::analyze {

struct LiveMethod {
  Frame frame;
  std::uint64_t self = 0;  // ns
  std::uint64_t total = 0;
};
struct LiveThread {
  ProcessId process{};
  ThreadId thread{};
  std::string name{};
  std::string process_name{};
  std::uint64_t ns = 0;
};

struct LiveInterval {
  TraceTime from{};
  TraceTime to{};
  std::uint64_t samples = 0;
  std::uint64_t ns = 0;               // that they stand for; what follows are parts of it
  std::vector<LiveMethod> methods{};  // most self first
  std::vector<LiveThread> threads{};  // busiest first
  std::array<std::uint64_t, kFrameKinds> by_kind{};
  // Processes with code of theirs that looks managed and that nothing names yet.
  std::unordered_map<ProcessId, std::uint64_t> unnamed{};
  // Each sample, by time, where they are kept; its stack is one of these, from 1.
  std::vector<RequestSample> taken{};
  std::vector<RequestBatch::Stack> stacks{};
  std::vector<std::string> frames{};

  double seconds() const { return std::chrono::duration<double>(to - from).count(); }
};

class LiveTimes {
 public:
  enum class Keep : std::uint8_t { kSums, kSamples };
  explicit LiveTimes(Keep keep = Keep::kSums) : keep_(keep) {}

  void on_batch(const nettrace::Reader& reader, const nettrace::Batch& batch);
  // A whole trace of another session, whose events name code of the process.
  void on_names(Bytes trace, ProcessId process);

  TraceTime newest() const { return newest_; }  // event that was counted or could have been
  // What was counted since the last one, up to `now`.
  LiveInterval cut(const nettrace::Reader& reader, TraceTime now);

 private:
  struct Row {
    ProcessId process{};
    ThreadId thread{};
    StackId stack{};
    ThreadState state{};
    SampleSum sum{};
  };
  void count(const nettrace::Reader& reader, const Event& event, Provider provider);
  void add(const Row& row, LiveInterval& out);
  std::uint32_t stack_of(std::span<const FrameId> frames, LiveInterval& out);

  // A sample of the interval; its row has its thread and stack.
  struct Taken {
    TraceTime time{};
    std::uint32_t row = 0;
    std::uint64_t ns = 0;
  };
  const Keep keep_;

  Providers providers_;
  FrameTable frames_;
  Symbolizer symbols_{frames_};
  SamplerTrust trust_;
  std::unordered_map<ProcessId, std::string> kernel_names_;
  std::unordered_map<ProcessId, std::string> command_names_;

  // Of the interval.
  Stacks stacks_;
  std::vector<Row> rows_;
  std::unordered_map<std::uint64_t, std::uint32_t> row_of_;
  std::vector<Taken> taken_;
  std::unordered_map<std::uint64_t, std::uint32_t> stack_of_;  // caller and frame
  std::unordered_map<FrameId, std::uint32_t> frame_of_;
  std::vector<LiveMethod> by_frame_;
  std::vector<std::uint32_t> last_in_;
  std::uint32_t turn_ = 0;
  std::vector<FrameId> stack_frames_;
  TraceTime from_{};
  TraceTime newest_{};
};

}  // namespace clrscope::analyze
