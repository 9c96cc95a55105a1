// Gives CPU samples to the requests that their threads worked for, while both are being recorded.
//
// Samples and requests come at their own pace: a request waits for the samples of its time, but not
// for longer than kPatience; a sample waits for the end of its request. What it holds is bounded.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <unordered_map>
#include <vector>

#include "model/request.h"

namespace clrscope::analyze {

// CPU samples and their stacks, as RequestBatch has them.
struct TakenSamples {
  std::vector<RequestSample> samples{};
  std::vector<RequestBatch::Stack> stacks{};
  std::vector<std::string> frames{};
};

class SampledRequests {
 public:
  static constexpr std::chrono::seconds kPatience{5};
  static constexpr std::size_t kMostSamples = 200'000;

  explicit SampledRequests(std::size_t most_samples = kMostSamples) : most_(most_samples) {}

  void add(RequestBatch batch, TraceTime now);
  // None comes any more for a time before `complete`.
  void add_samples(TakenSamples taken, TraceTime complete);
  // Requests that have all their samples, and those that have waited long enough.
  RequestBatch take(TraceTime now);
  RequestBatch take_all() { return take(TraceTime::max()); }

  // Samples whose request did not wait for them, or that did not fit.
  std::uint64_t lost() const { return lost_; }

 private:
  struct Waiting {
    RequestTrace request;
    TraceTime since{};
  };
  struct Held {
    RequestSample sample;
    std::shared_ptr<const TakenSamples> from;  // has its stack
  };
  using Samples = std::multimap<TraceTime, Held>;
  // Where the stacks of some samples begin in a batch.
  struct Place {
    std::shared_ptr<const TakenSamples> from;
    std::uint32_t first = 0;
  };

  bool came_late(const RequestSample& sample) const;
  void forget_oldest();
  void give_samples(RequestTrace& request, RequestBatch& batch, std::vector<Place>& places);

  const std::size_t most_;
  std::vector<std::string> methods_;
  std::deque<Waiting> waiting_;
  std::unordered_map<std::uint32_t, Samples> samples_;  // by thread
  std::size_t held_ = 0;
  TraceTime complete_{};
  std::deque<RunningPart> not_awaited_;  // of requests that went without all their samples
  std::uint64_t lost_ = 0;
};

}  // namespace clrscope::analyze
