#include "store/batch.h"

namespace clrscope::store {
namespace {

constexpr std::size_t kLongestLabel = 255;
constexpr std::size_t kLongestName = 4096;
constexpr std::uint64_t kLongestTime = std::uint64_t{1} << 60;  // 36 years

Result<> check_source(const BatchSource& source) {
  if (source.host.empty() || source.host.size() > kLongestLabel)
    return fail(Errc::kCorrupt, "source.host must be 1 to {} bytes long", kLongestLabel);
  if (source.service.empty() || source.service.size() > kLongestLabel)
    return fail(Errc::kCorrupt, "source.service must be 1 to {} bytes long", kLongestLabel);
  if (source.instance.size() < 8 || source.instance.size() > 16)
    return fail(Errc::kCorrupt, "source.instance must be 8 to 16 bytes long");
  if (source.version.size() > kLongestLabel || source.runtime.size() > kLongestLabel ||
      source.relay_version.size() > kLongestLabel)
    return fail(Errc::kCorrupt, "a text of source is longer than {} bytes", kLongestLabel);
  return {};
}

Result<> check_request(const Batch& batch, const BatchRequest& request) {
  const auto names = batch.names.size();
  if (request.method > names || request.route > names || request.path > names ||
      request.error > names)
    return fail(Errc::kCorrupt, "a request has a name above {}", names);
  if (request.begin < 0 || static_cast<std::uint64_t>(request.begin) > kLongestTime * 8 - 1)
    return fail(Errc::kCorrupt, "a request begins at {}", request.begin);
  if (request.duration > kLongestTime || request.running > kLongestTime ||
      request.waiting > kLongestTime || request.queued > kLongestTime)
    return fail(Errc::kCorrupt, "a request has a time above {} ns", kLongestTime);
  return {};
}

Result<> check_columns(const BatchSpans& spans) {
  const auto count = spans.method.size();
  const auto steps = spans.step_begin.size();
  if (spans.parent.size() != count || spans.thread.size() != count || spans.kind.size() != count ||
      spans.steps.size() != count || spans.begin.size() != count ||
      spans.duration.size() != count || spans.self.size() != count || spans.queued.size() != count)
    return fail(Errc::kCorrupt, "the columns of spans differ in length");
  if (spans.step_duration.size() != steps || spans.step_thread.size() != steps)
    return fail(Errc::kCorrupt, "the columns of steps differ in length");
  return {};
}

// How deep the elements of a tree are; parents are positions from 1 and come first.
class Depths {
 public:
  void clear() { depths_.clear(); }
  Result<> add(std::uint32_t parent) {
    const auto depth = parent == 0 ? 1U : depths_[parent - 1] + 1U;
    if (depth > kDeepestStack)
      return fail(Errc::kCorrupt, "a stack is deeper than {}", kDeepestStack);
    depths_.push_back(depth);
    return {};
  }

 private:
  std::vector<std::uint32_t> depths_;
};

Result<> check_spans(const Batch& batch) {
  const auto& spans = batch.spans;
  TRY(check_columns(spans));
  Depths depths;
  std::size_t at = 0, step_at = 0;
  for (const auto& request : batch.requests) {
    if (request.spans > spans.method.size() - at)
      return fail(Errc::kCorrupt, "a request has more spans than there are");
    std::uint64_t steps = 0;
    depths.clear();
    for (std::uint32_t i = 0; i < request.spans; ++i, ++at) {
      if (spans.method[at] == 0 || spans.method[at] > batch.names.size())
        return fail(Errc::kCorrupt, "a span has method {} of {}", spans.method[at],
                    batch.names.size());
      if (spans.parent[at] > i)
        return fail(Errc::kCorrupt, "span {} has the later parent {}", i + 1, spans.parent[at]);
      TRY(depths.add(spans.parent[at]));
      if (spans.begin[at] > kLongestTime || spans.duration[at] > kLongestTime ||
          spans.self[at] > kLongestTime || spans.queued[at] > kLongestTime)
        return fail(Errc::kCorrupt, "a span has a time above {} ns", kLongestTime);
      steps += spans.steps[at];
    }
    if (steps != request.steps || steps > spans.step_begin.size() - step_at)
      return fail(Errc::kCorrupt, "a request has {} steps, its spans have {}", request.steps,
                  steps);
    for (std::uint64_t i = 0; i < steps; ++i, ++step_at)
      if (spans.step_begin[step_at] > kLongestTime || spans.step_duration[step_at] > kLongestTime)
        return fail(Errc::kCorrupt, "a step has a time above {} ns", kLongestTime);
  }
  if (at != spans.method.size() || step_at != spans.step_begin.size())
    return fail(Errc::kCorrupt, "there are spans or steps of no request");
  return {};
}

Result<> check_stacks(const Batch& batch) {
  const auto& stacks = batch.stacks;
  if (stacks.parent.size() != stacks.method.size())
    return fail(Errc::kCorrupt, "the columns of stacks differ in length");
  Depths depths;
  for (std::size_t i = 0; i < stacks.method.size(); ++i) {
    if (stacks.method[i] == 0 || stacks.method[i] > batch.names.size())
      return fail(Errc::kCorrupt, "a stack has method {} of {}", stacks.method[i],
                  batch.names.size());
    if (stacks.parent[i] > i)
      return fail(Errc::kCorrupt, "stack {} has the later parent {}", i + 1, stacks.parent[i]);
    TRY(depths.add(stacks.parent[i]));
  }
  return {};
}

Result<> check_samples(const Batch& batch) {
  const auto& samples = batch.samples;
  const auto count = samples.time.size();
  if (samples.weight.size() != count || samples.stack.size() != count ||
      samples.span.size() != count || samples.thread.size() != count)
    return fail(Errc::kCorrupt, "the columns of samples differ in length");
  std::size_t at = 0;
  for (const auto& request : batch.requests) {
    if (request.samples > count - at)
      return fail(Errc::kCorrupt, "a request has more samples than there are");
    for (std::uint32_t i = 0; i < request.samples; ++i, ++at) {
      if (samples.stack[at] > batch.stacks.method.size() || samples.span[at] > request.spans)
        return fail(Errc::kCorrupt, "a sample has stack {} of {} and span {} of {}",
                    samples.stack[at], batch.stacks.method.size(), samples.span[at], request.spans);
      if (samples.time[at] > kLongestTime || samples.weight[at] > kLongestTime)
        return fail(Errc::kCorrupt, "a sample has a time above {} ns", kLongestTime);
    }
  }
  if (at != count) return fail(Errc::kCorrupt, "there are samples of no request");
  return {};
}

}  // namespace

Result<> check_batch(const Batch& batch) {
  if (batch.id.size() < 8 || batch.id.size() > 64)
    return fail(Errc::kCorrupt, "id must be 8 to 64 bytes long");
  TRY(check_source(batch.source));
  for (const auto& name : batch.names)
    if (name.size() > kLongestName)
      return fail(Errc::kCorrupt, "a name is longer than {} bytes", kLongestName);
  for (const auto& request : batch.requests) TRY(check_request(batch, request));
  TRY(check_spans(batch));
  TRY(check_stacks(batch));
  return check_samples(batch);
}

}  // namespace clrscope::store
