#include "analyze/method_times.h"

#include <algorithm>

#include "model/sampling.h"

namespace clrscope::analyze {
namespace {

void add(MethodTimes::Count& to, const MethodTimes::Count& more) {
  to.all += more.all;
  to.running += more.running;
  to.waiting += more.waiting;
}

}  // namespace

void MethodTimes::on_batch(const nettrace::Reader& reader, const nettrace::Batch& batch) {
  if (!trace_) trace_.emplace(frames_);
  for (const Event& event : batch.events) {
    const auto provider = trace_->providers.of(*event.type);
    if (is_sample(event, provider)) {
      count(reader, event, provider);
    } else {
      if (provider == Provider::kUniversalEvents && event.type->name == kSampledByAgent)
        trace_->agent = true;
      trace_->symbols.on_event(event, provider);
      trace_->trust.on_event(event, provider);
    }
  }
  trace_->stacks.on_batch_end(batch);
}

void MethodTimes::count(const nettrace::Reader& reader, const Event& event, Provider provider) {
  auto& counts = provider == Provider::kSampler ? trace_->counts : trace_->kernel_counts;
  const auto at = static_cast<std::size_t>(trace_->stacks.intern(reader, event));
  if (at >= counts.size()) counts.resize(std::max(at + 1, counts.size() * 2));
  const auto state = sample_state(event, provider);
  const auto one = one_sample(reader, event, provider);
  counts[at].all += one;
  if (state == ThreadState::kRunning) counts[at].running += one;
  if (state == ThreadState::kWaiting) counts[at].waiting += one;
}

void MethodTimes::end_of_trace() {
  if (!trace_) return;
  constexpr std::uint32_t kNever = 0xffffffff;
  std::vector<std::uint32_t> last_in;  // by frame: the stack that counted it last
  std::vector<FrameId> frames;
  const bool by_kernel = trace_->counts.empty();
  auto& counts = by_kernel ? trace_->kernel_counts : trace_->counts;
  for (std::uint32_t i = 0; i < counts.size(); ++i) {
    auto& samples = counts[i];
    if (samples.all.count == 0) continue;
    if (by_kernel) by_kernel_ += samples.all.count;
    if (by_kernel && trace_->agent) by_agent_ += samples.all.count;
    const StackId stack{i};
    if (stack == StackId::kNone) {
      add(samples_, samples);
      without_stack_ += samples.all.count;
      continue;
    }
    trace_->symbols.frames(trace_->stacks.process(stack), trace_->stacks.addresses(stack),
                           trace_->stacks.first_seen(stack), frames);
    if (!by_kernel && trace_->trust.doubted(trace_->stacks.process(stack))) {
      const bool running = state_by_top(frames_.frame(frames.front())) == ThreadState::kRunning;
      samples.running = running ? samples.all : SampleSum{};
      samples.waiting = running ? SampleSum{} : samples.all;
      judged_by_top_ += samples.all.count;
    }
    add(samples_, samples);
    times_.resize(frames_.size());
    last_in.resize(frames_.size(), kNever);
    add(times_[static_cast<std::size_t>(frames.front())].self, samples);
    for (const auto id : frames) {
      const auto at = static_cast<std::size_t>(id);
      if (std::exchange(last_in[at], i) != i) add(times_[at].total, samples);
    }
  }
  trace_.reset();
}

std::vector<FrameId> MethodTimes::ranked(bool by_total) const {
  std::vector<FrameId> ids;
  for (std::uint32_t i = 0; i < times_.size(); ++i)
    if (times_[i].total.all.count > 0) ids.push_back(FrameId{i});
  std::sort(ids.begin(), ids.end(), [&](FrameId a, FrameId b) {
    const auto& left = times_[static_cast<std::size_t>(a)];
    const auto& right = times_[static_cast<std::size_t>(b)];
    const auto key = [by_total](const Times& t) {
      return by_total ? std::pair{t.total.all.ns, t.self.all.ns}
                      : std::pair{t.self.all.ns, t.total.all.ns};
    };
    if (key(left) != key(right)) return key(left) > key(right);
    return frames_.frame(a).method < frames_.frame(b).method;
  });
  return ids;
}

}  // namespace clrscope::analyze
