#include "analyze/sampled_requests.h"

#include <algorithm>

namespace clrscope::analyze {
namespace {

constexpr std::size_t kMostNotAwaited = 10'000;

}  // namespace

void SampledRequests::add(RequestBatch batch, TraceTime now) {
  if (batch.methods.size() >= methods_.size()) methods_ = std::move(batch.methods);
  for (auto& request : batch.requests) waiting_.push_back({std::move(request), now});
}

bool SampledRequests::came_late(const RequestSample& sample) const {
  return std::ranges::any_of(not_awaited_, [&](const RunningPart& part) {
    return part.thread == sample.thread && part.begin <= sample.time && sample.time <= part.end;
  });
}

void SampledRequests::add_samples(TakenSamples taken, TraceTime complete) {
  complete_ = std::max(complete_, complete);
  const auto from = std::make_shared<const TakenSamples>(std::move(taken));
  for (const auto& sample : from->samples) {
    if (came_late(sample)) {
      ++lost_;
      continue;
    }
    samples_[sample.thread].emplace(sample.time, Held{sample, from});
    ++held_;
  }
  if (held_ > most_) forget_oldest();
  while (!not_awaited_.empty() && not_awaited_.front().end < complete_) not_awaited_.pop_front();
}

// The older half: most of them belong to no request.
void SampledRequests::forget_oldest() {
  std::vector<TraceTime> times;
  times.reserve(held_);
  for (const auto& [thread, samples] : samples_)
    for (const auto& [time, one] : samples) times.push_back(time);
  const auto middle = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
  std::nth_element(times.begin(), middle, times.end());
  for (auto thread = samples_.begin(); thread != samples_.end();) {
    auto& samples = thread->second;
    samples.erase(samples.begin(), samples.lower_bound(*middle));
    thread = samples.empty() ? samples_.erase(thread) : std::next(thread);
  }
  held_ = 0;
  for (const auto& [thread, samples] : samples_) held_ += samples.size();
}

void SampledRequests::give_samples(RequestTrace& request, RequestBatch& batch,
                                   std::vector<Place>& places) {
  const auto place_of = [&](const std::shared_ptr<const TakenSamples>& from) {
    const auto known = std::ranges::find(places, from, &Place::from);
    if (known != places.end()) return known->first;
    const Place place{from, static_cast<std::uint32_t>(batch.stacks.size())};
    const auto frame = static_cast<std::uint32_t>(batch.frames.size());
    for (const auto& stack : from->stacks)
      batch.stacks.push_back(
          {stack.parent == 0 ? 0 : stack.parent + place.first, stack.frame + frame});
    batch.frames.insert(batch.frames.end(), from->frames.begin(), from->frames.end());
    places.push_back(place);
    return place.first;
  };
  for (const auto& part : request.parts) {
    const auto thread = samples_.find(part.thread);
    if (thread == samples_.end()) continue;
    auto& samples = thread->second;
    auto at = samples.lower_bound(part.begin);
    for (; at != samples.end() && at->first <= part.end; at = samples.erase(at), --held_) {
      auto sample = at->second.sample;
      if (sample.stack != 0) sample.stack += place_of(at->second.from);
      request.samples.push_back(sample);
    }
    if (samples.empty()) samples_.erase(thread);
  }
  std::ranges::stable_sort(request.samples, {}, &RequestSample::time);
}

RequestBatch SampledRequests::take(TraceTime now) {
  RequestBatch batch{.methods = methods_};
  std::vector<Place> places;
  std::deque<Waiting> rest;
  for (auto& one : waiting_) {
    const bool complete = one.request.parts.empty() || one.request.end < complete_;
    if (!complete && now - one.since < kPatience) {
      rest.push_back(std::move(one));
      continue;
    }
    give_samples(one.request, batch, places);
    if (!complete && not_awaited_.size() + one.request.parts.size() <= kMostNotAwaited)
      not_awaited_.insert(not_awaited_.end(), one.request.parts.begin(), one.request.parts.end());
    batch.requests.push_back(std::move(one.request));
  }
  waiting_ = std::move(rest);
  return batch;
}

}  // namespace clrscope::analyze
