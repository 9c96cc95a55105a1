// Makes a Profile of the samples in one trace.
//
//   ProfileBuilder builder;
//   ops::read_trace(path, {.on_batch = [&](auto& reader, auto& batch) { builder.on_batch(reader,
//   batch); },
//                          .on_end = [&](auto& reader) { builder.end_of_trace(reader); }});
//   const Profile profile = std::move(builder).finish();
//
// Memory: 48 bytes for each sample at the end, and each distinct stack and method once.
#pragma once

#include <deque>
#include <unordered_map>

#include "analyze/profile.h"
#include "analyze/samples.h"
#include "analyze/stacks.h"
#include "analyze/symbolizer.h"

namespace clrscope::analyze {

class ProfileBuilder {
 public:
  explicit ProfileBuilder(SourceLines* lines = nullptr) : frames_(lines) {}

  void on_batch(const nettrace::Reader& reader, const nettrace::Batch& batch);
  void end_of_trace(const nettrace::Reader& reader);
  std::size_t samples() const { return taken_.size(); }  // kept until the end of the trace
  Profile finish() &&;

 private:
  void add_sample(const nettrace::Reader& reader, const Event& event, Provider provider);
  void unpack_samples();
  std::uint32_t thread_index(const Event& event);
  void note_process(const Event& event);
  void keep_one_source();
  void grow_stacks();
  void doubt_states();
  void weigh();
  std::chrono::nanoseconds usual_distance() const;

  // A sample while the trace is read. A deque grows without copying, so that the peak is this and
  // the samples made of it.
  struct Taken {
    TraceTime time;
    std::uint32_t thread;
    std::uint32_t stack : 29;  // of stacks_
    std::uint32_t state : 2;
    std::uint32_t of_sampler : 1;
  };
  static_assert(sizeof(Taken) == 16);
  static constexpr std::uint32_t kMaxStack = (1U << 29) - 1;

  Profile profile_;
  std::deque<Taken> taken_;
  // From which sample of the kernel on there is another time for each; seldom, as it is with us.
  std::vector<std::pair<std::size_t, std::uint64_t>> weights_;
  FrameTable frames_;
  Providers providers_;
  Stacks stacks_;
  Symbolizer symbols_{frames_};
  SamplerTrust trust_;
  std::unordered_map<std::uint64_t, std::uint32_t> threads_;  // hash of process and thread: index
  std::unordered_map<ProcessId, std::string> kernel_names_;
  std::chrono::nanoseconds period_{};
};

}  // namespace clrscope::analyze
