// One thread's samples as a timeline: frames that open and close, root first.
//
// A sample lasts for its weight, but no longer than to the next one. A frame that the next sample
// has at the same depth stays open; a gap closes everything. Below the leaf stands what the thread
// did, under the names that dotnet-trace gives it, where the sampler knows.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "analyze/profile.h"

namespace clrscope::exports {

constexpr std::string_view kRunningName = "CPU_TIME";
constexpr std::string_view kWaitingName = "UNMANAGED_CODE_TIME";

// The two states are frames behind the profile's own.
inline std::uint32_t running_frame(const analyze::Profile& profile) {
  return static_cast<std::uint32_t>(profile.frames.size());
}
inline std::uint32_t waiting_frame(const analyze::Profile& profile) {
  return running_frame(profile) + 1;
}

// "Thread (4312)", "Thread (4312) .NET TP Worker"; with its process where there are several.
std::string thread_title(const analyze::Profile& profile, const analyze::ProfileThread& thread);

// What the profile is of: its process, or "trace".
std::string profile_title(const analyze::Profile& profile);

// Walks the timelines of one profile's threads.
class Timeline {
 public:
  explicit Timeline(const analyze::Profile& profile);

  // open(frame, at) and close(frame, at), with `at` in microseconds since the profile's beginning,
  // never going back.
  template <class Open, class Close>
  void walk(const analyze::ProfileThread& thread, Open&& open, Close&& close);

 private:
  using Node = analyze::StackNodeId;
  static constexpr std::uint32_t kNoState = 0xffffffff;
  static constexpr std::int64_t kLongest = INT64_MAX / 4;  // nanoseconds: room to add
  static constexpr std::int64_t kSlack = 4;  // a gap of a quarter sample is the timer's, no pause

  std::uint32_t depth(Node node) const { return depths_[static_cast<std::size_t>(node)]; }
  std::int64_t since_start(const analyze::Sample& sample) const {
    return std::clamp<std::int64_t>((sample.time - profile_.from).count(), 0, kLongest);
  }
  std::uint32_t frame(Node node) const {
    return static_cast<std::uint32_t>(profile_.node(node).frame);
  }
  std::uint32_t state_frame(analyze::ThreadState state) const;

  const analyze::Profile& profile_;
  std::vector<std::uint32_t> depths_;  // of each node
  std::vector<Node> open_;             // root first
  std::vector<Node> coming_;           // leaf first
};

template <class Open, class Close>
void Timeline::walk(const analyze::ProfileThread& thread, Open&& open, Close&& close) {
  constexpr std::int64_t kMicrosecond = 1000;
  const auto micros = [](std::int64_t at) { return static_cast<std::uint64_t>(at / kMicrosecond); };
  std::uint32_t state = kNoState;
  std::int64_t begin = 0, end = 0, weight = 0;  // of the sample before
  open_.clear();
  const auto close_state = [&](std::int64_t at) {
    if (state != kNoState) close(state, micros(at));
    state = kNoState;
  };
  const auto close_down_to = [&](std::size_t size, std::int64_t at) {
    for (; open_.size() > size; open_.pop_back()) close(frame(open_.back()), micros(at));
  };

  for (const std::uint32_t index : thread.samples) {
    const analyze::Sample& sample = profile_.samples[index];
    const std::int64_t at = std::max(begin, since_start(sample));
    if (at - end > weight / kSlack) {
      close_state(end);
      close_down_to(0, end);
    }
    const Node leaf = open_.empty() ? analyze::kNoStack : open_.back();
    const std::uint32_t new_state = state_frame(sample.state);
    if (leaf != sample.stack || state != new_state) {
      close_state(at);
      coming_.clear();
      Node node = sample.stack;  // climbs until it meets what is open
      for (; depth(node) > open_.size(); node = profile_.node(node).parent) coming_.push_back(node);
      close_down_to(depth(node), at);
      for (; node != analyze::kNoStack && open_.back() != node; node = profile_.node(node).parent) {
        coming_.push_back(node);
        close_down_to(open_.size() - 1, at);
      }
      for (; !coming_.empty(); coming_.pop_back()) {
        open_.push_back(coming_.back());
        open(frame(coming_.back()), micros(at));
      }
      state = new_state;
      if (state != kNoState) open(state, micros(at));
    }
    begin = at;
    weight = std::clamp<std::int64_t>(sample.weight.count(), 0, kLongest);
    end = at + weight;
  }
  close_state(end);
  close_down_to(0, end);
}

}  // namespace clrscope::exports
