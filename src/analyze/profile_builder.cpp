#include "analyze/profile_builder.h"

#include <algorithm>

#include "analyze/durations.h"

#include "analyze/process_names.h"

namespace clrscope::analyze {
namespace {

constexpr std::chrono::nanoseconds kUsualPeriod = std::chrono::milliseconds{1};

}  // namespace

void ProfileBuilder::on_batch(const nettrace::Reader& reader, const nettrace::Batch& batch) {
  for (const Event& event : batch.events) {
    const auto provider = providers_.of(*event.type);
    if (provider != Provider::kRundown) profile_.to = std::max(profile_.to, event.time);
    if (is_sample(event, provider)) {
      add_sample(reader, event, provider);
    } else if (provider == Provider::kOther) {
      note_process(event);
    } else {
      if (auto name = universal_process_name(event, provider))
        kernel_names_[event.process] = std::move(*name);
      symbols_.on_event(event, provider);
      trust_.on_event(event, provider);
    }
  }
  stacks_.on_batch_end(batch);
}

void ProfileBuilder::note_process(const Event& event) {
  const auto name = process_name(event);
  if (!name) return;
  for (auto& process : profile_.processes)
    if (process.process == event.process) {
      process.name = *name;
      return;
    }
  profile_.processes.push_back({event.process, *name});
}

void ProfileBuilder::add_sample(const nettrace::Reader& reader, const Event& event,
                                Provider provider) {
  const auto stack = static_cast<std::uint32_t>(stacks_.intern(reader, event));
  if (provider != Provider::kSampler) {
    const auto ns = one_sample(reader, event, provider).ns;
    if (weights_.empty() || weights_.back().second != ns) weights_.push_back({taken_.size(), ns});
  }
  taken_.push_back({
      .time = event.time,
      .thread = thread_index(event),
      .stack = (stack <= kMaxStack ? stack : 0) & kMaxStack,
      .state = static_cast<std::uint32_t>(sample_state(event, provider)) & 3U,
      .of_sampler = provider == Provider::kSampler,
  });
}

void ProfileBuilder::unpack_samples() {
  profile_.samples.reserve(taken_.size());
  std::size_t at = 0;
  for (const Taken& taken : taken_) {
    const auto i = profile_.samples.size();
    while (at + 1 < weights_.size() && weights_[at + 1].first <= i) ++at;
    const auto ns = taken.of_sampler != 0 ? 0 : static_cast<std::int64_t>(weights_[at].second);
    profile_.samples.push_back({
        .time = taken.time,
        .weight = std::chrono::nanoseconds{ns},
        .thread = taken.thread,
        .stack = StackNodeId{taken.stack},
        .state = static_cast<ThreadState>(taken.state),
    });
  }
  taken_ = {};
}

std::uint32_t ProfileBuilder::thread_index(const Event& event) {
  const auto key =
      static_cast<std::uint64_t>(event.thread) ^ static_cast<std::uint64_t>(event.process) << 32;
  const auto next = static_cast<std::uint32_t>(profile_.threads.size());
  const auto [at, is_new] = threads_.try_emplace(key, next);
  if (is_new) profile_.threads.push_back({.process = event.process, .thread = event.thread});
  return at->second;
}

void ProfileBuilder::end_of_trace(const nettrace::Reader& reader) {
  if (const auto* info = reader.info()) {
    profile_.from = info->begin();
    profile_.start = info->wall_of(profile_.from);
    period_ = std::chrono::nanoseconds{info->sampling_ns};
  }
  if (period_.count() == 0) period_ = kUsualPeriod;
  profile_.lost = reader.summary().lost;
  for (const auto& declared : reader.threads())
    for (auto& thread : profile_.threads)
      if (thread.process == declared.process && thread.thread == declared.thread)
        thread.name = declared.name;
  for (const auto& thread : profile_.threads)
    if (std::none_of(profile_.processes.begin(), profile_.processes.end(),
                     [&](const auto& process) { return process.process == thread.process; }))
      profile_.processes.push_back({thread.process, kernel_names_[thread.process]});
  unpack_samples();
  keep_one_source();
  grow_stacks();
  doubt_states();
  const auto earlier = [](const Sample& a, const Sample& b) { return a.time < b.time; };
  auto& samples = profile_.samples;
  if (!std::is_sorted(samples.begin(), samples.end(), earlier))
    std::stable_sort(samples.begin(), samples.end(), earlier);
  weigh();
}

// Where both the runtime and the kernel sampled, a thread's time would count twice: the runtime's
// samples stay, since they tell of waiting too.
void ProfileBuilder::keep_one_source() {
  const auto by_kernel = [](const Sample& sample) { return sample.weight.count() != 0; };
  auto& samples = profile_.samples;
  profile_.by_kernel = std::all_of(samples.begin(), samples.end(), by_kernel);
  if (!profile_.by_kernel) std::erase_if(samples, by_kernel);
}

// Names the stacks and turns them into a tree.
void ProfileBuilder::grow_stacks() {
  auto& nodes = profile_.stacks;
  nodes.assign(1, {});
  HashIndex index;
  const auto child = [&](StackNodeId parent, FrameId frame) {
    const std::uint32_t key[] = {static_cast<std::uint32_t>(parent),
                                 static_cast<std::uint32_t>(frame)};
    const auto hash = hash_bytes(key, sizeof key);
    auto id = index.find(hash, [&](std::uint32_t i) {
      return nodes[i].parent == parent && nodes[i].frame == frame;
    });
    if (id == HashIndex::kNone) {
      id = static_cast<std::uint32_t>(nodes.size());
      nodes.push_back({parent, frame});
      index.insert(hash, id);
    }
    return StackNodeId{id};
  };
  std::vector<StackNodeId> leaves(stacks_.size(), kNoStack);
  std::vector<FrameId> frames;
  for (std::uint32_t i = 1; i < stacks_.size(); ++i) {
    const StackId stack{i};
    symbols_.frames(stacks_.process(stack), stacks_.addresses(stack), stacks_.first_seen(stack),
                    frames);
    auto at = kNoStack;
    for (auto frame = frames.rbegin(); frame != frames.rend(); ++frame) at = child(at, *frame);
    leaves[i] = at;
  }
  for (auto& sample : profile_.samples)
    sample.stack = leaves[static_cast<std::size_t>(sample.stack)];
  profile_.frames = std::move(frames_).take();
}

void ProfileBuilder::doubt_states() {
  for (auto& sample : profile_.samples)
    if (sample.weight.count() == 0 && sample.stack != kNoStack &&
        trust_.doubted(profile_.threads[sample.thread].process))
      sample.state = state_by_top(profile_.frame(profile_.node(sample.stack).frame));
}

void ProfileBuilder::weigh() {
  auto& samples = profile_.samples;
  std::vector<std::uint32_t> counts(profile_.threads.size());
  for (const auto& sample : samples) ++counts[sample.thread];
  for (std::size_t i = 0; i < counts.size(); ++i) profile_.threads[i].samples.reserve(counts[i]);
  for (std::uint32_t i = 0; i < samples.size(); ++i)
    profile_.threads[samples[i].thread].samples.push_back(i);

  const auto usual = usual_distance();
  for (const auto& thread : profile_.threads)
    for (std::size_t i = 0; i < thread.samples.size(); ++i) {
      auto& sample = samples[thread.samples[i]];
      const bool last = i + 1 == thread.samples.size();
      if (sample.weight.count() == 0)
        sample.weight = last ? usual : between(sample.time, samples[thread.samples[i + 1]].time);
    }
}

// Between two samples of the thread that has the most: one with few may have been away in between.
std::chrono::nanoseconds ProfileBuilder::usual_distance() const {
  const auto most = std::max_element(
      profile_.threads.begin(), profile_.threads.end(),
      [](const auto& a, const auto& b) { return a.samples.size() < b.samples.size(); });
  if (most == profile_.threads.end() || most->samples.size() < 2) return period_;
  std::vector<std::chrono::nanoseconds> gaps;
  gaps.reserve(most->samples.size() - 1);
  for (std::size_t i = 0; i + 1 < most->samples.size(); ++i)
    gaps.push_back(between(profile_.samples[most->samples[i]].time,
                           profile_.samples[most->samples[i + 1]].time));
  const auto middle = gaps.begin() + static_cast<std::ptrdiff_t>(gaps.size() / 2);
  std::nth_element(gaps.begin(), middle, gaps.end());
  return *middle;
}

Profile ProfileBuilder::finish() && { return std::move(profile_); }

}  // namespace clrscope::analyze
