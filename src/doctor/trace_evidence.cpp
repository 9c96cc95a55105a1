#include "doctor/trace_evidence.h"

#include <algorithm>
#include <map>
#include <unordered_map>

#include "analyze/samples.h"
#include "model/provider_names.h"

namespace clrscope::doctor {
namespace {

using analyze::FrameId;
using analyze::FrameKind;
using analyze::Profile;
using analyze::StackNodeId;

constexpr std::size_t kMostPlaces = 5;
constexpr std::size_t kMostMethods = 20;
constexpr std::uint32_t kInduced[] = {1, 7, 9, 10};  // "GCReason": asked for by the program

bool is_own(FrameKind kind) { return kind == FrameKind::kManaged; }
bool is_managed(FrameKind kind) {
  return is_own(kind) || kind == FrameKind::kDynamic || kind == FrameKind::kFramework;
}

// The stacks of running threads: what ends in a node, and what in it or below.
struct Weights {
  std::vector<std::uint64_t> self, total;
  std::uint64_t all = 0;
  std::uint64_t samples = 0;

  double share(std::uint64_t part) const {
    return all == 0 ? 0 : static_cast<double>(part) / static_cast<double>(all);
  }
};

// The kernel's samples count by their time; the runtime's, which are of all threads at once, alike.
std::uint64_t weight_of(const Profile& profile, const analyze::Sample& sample) {
  return profile.by_kernel ? static_cast<std::uint64_t>(sample.weight.count()) : 1;
}

Weights weigh(const Profile& profile) {
  Weights weights;
  weights.self.resize(profile.stacks.size());
  for (const auto& sample : profile.samples) {
    if (sample.state != analyze::ThreadState::kRunning) continue;
    ++weights.samples;
    weights.all += weight_of(profile, sample);
    weights.self[static_cast<std::size_t>(sample.stack)] += weight_of(profile, sample);
  }
  weights.total = weights.self;
  for (auto i = profile.stacks.size(); i-- > 1;)  // a parent stands before its children
    weights.total[static_cast<std::size_t>(profile.stacks[i].parent)] += weights.total[i];
  return weights;
}

// Time in native code under a method counts as the method's own: what the program's author can
// change is the method that called it.
StackNodeId innermost(const Profile& profile, StackNodeId stack, bool (*fits)(FrameKind)) {
  auto at = stack;
  while (at != analyze::kNoStack && !fits(profile.frame(profile.node(at).frame).kind))
    at = profile.node(at).parent;
  return at;
}

CpuMethod method_of(const analyze::Frame& frame) {
  return {.method = frame.method, .module = frame.module, .own = is_own(frame.kind)};
}

std::vector<CpuMethod> methods_of(const Profile& profile, const Weights& weights) {
  std::unordered_map<FrameId, std::pair<std::uint64_t, std::uint64_t>> times;
  std::vector<FrameId> counted;
  for (std::size_t i = 1; i < profile.stacks.size(); ++i) {
    const auto self = weights.self[i];
    if (self == 0) continue;
    const auto leaf = innermost(profile, StackNodeId{static_cast<std::uint32_t>(i)}, is_managed);
    if (leaf != analyze::kNoStack) times[profile.node(leaf).frame].first += self;
    counted.clear();
    for (StackNodeId at{static_cast<std::uint32_t>(i)}; at != analyze::kNoStack;
         at = profile.node(at).parent) {
      const auto frame = profile.node(at).frame;
      if (!is_managed(profile.frame(frame).kind) ||
          std::ranges::find(counted, frame) != counted.end())
        continue;
      counted.push_back(frame);
      times[frame].second += self;
    }
  }
  std::vector<CpuMethod> methods;
  for (const auto& [frame, time] : times) {
    methods.push_back(method_of(profile.frame(frame)));
    methods.back().self = weights.share(time.first);
    methods.back().total = weights.share(time.second);
  }
  std::ranges::sort(methods, [](const auto& a, const auto& b) {
    return a.self != b.self ? a.self > b.self : a.method < b.method;
  });
  if (methods.size() > kMostMethods) methods.resize(kMostMethods);
  return methods;
}

// The stack in which the hottest method was seen most, and the thread that had it most.
void find_hot_path(const Profile& profile, const Weights& weights, CpuFacts& facts) {
  if (facts.methods.empty()) return;
  std::vector<std::uint64_t> ends(profile.stacks.size());  // samples by their innermost method
  for (std::uint32_t i = 1; i < profile.stacks.size(); ++i)
    if (weights.self[i] > 0)
      ends[static_cast<std::size_t>(innermost(profile, StackNodeId{i}, is_managed))] +=
          weights.self[i];
  const auto& hottest = facts.methods.front();
  std::uint32_t most = 0;
  for (std::uint32_t i = 1; i < profile.stacks.size(); ++i) {
    const auto& frame = profile.frame(profile.stacks[i].frame);
    if (frame.method == hottest.method && frame.module == hottest.module &&
        (most == 0 || ends[i] > ends[most]))
      most = i;
  }
  for (StackNodeId at{most}; at != analyze::kNoStack; at = profile.node(at).parent)
    if (const auto& frame = profile.frame(profile.node(at).frame); is_managed(frame.kind))
      facts.hot_path.push_back(method_of(frame));
  std::size_t longest = 0;
  for (const auto& thread : profile.threads) {
    const auto there =
        static_cast<std::size_t>(std::ranges::count_if(thread.samples, [&](std::uint32_t i) {
          const auto& sample = profile.samples[i];
          return sample.state == analyze::ThreadState::kRunning &&
                 innermost(profile, sample.stack, is_managed) == StackNodeId{most};
        }));
    if (there <= longest) continue;
    longest = there;
    facts.hot_thread = static_cast<std::uint64_t>(thread.thread);
    facts.hot_thread_name = thread.name;
  }
}

std::vector<CpuThread> threads_of(const Profile& profile, const Weights& weights) {
  std::vector<CpuThread> threads;
  for (const auto& thread : profile.threads) {
    std::map<FrameId, std::uint64_t> own;
    std::uint64_t running = 0;
    for (const auto i : thread.samples) {
      const auto& sample = profile.samples[i];
      if (sample.state != analyze::ThreadState::kRunning) continue;
      running += weight_of(profile, sample);
      const auto leaf = innermost(profile, sample.stack, is_own);
      if (leaf != analyze::kNoStack) own[profile.node(leaf).frame] += weight_of(profile, sample);
    }
    if (running == 0) continue;
    CpuThread one{.os_id = static_cast<std::uint64_t>(thread.thread),
                  .name = thread.name,
                  .share = weights.share(running)};
    if (!own.empty()) {
      const auto top = std::ranges::max_element(own, {}, [](const auto& it) { return it.second; });
      const auto& frame = profile.frame(top->first);
      const auto part = static_cast<double>(top->second) / static_cast<double>(running);
      one.top = {frame.method, frame.module, part, part};
    }
    threads.push_back(std::move(one));
  }
  std::ranges::stable_sort(threads, std::greater{}, &CpuThread::share);
  return threads;
}

}  // namespace

void TraceEvidence::on_batch(const analyze::TraceReader& reader, const analyze::TraceBatch& batch) {
  exceptions_.on_batch(reader, batch);
  contention_.on_batch(reader, batch);
  pool_.on_batch(reader, batch);
  profile_.on_batch(reader, batch);
  const auto pointer_size = reader.info() ? reader.info()->pointer_size : 8;
  for (const Event& event : batch.events) {
    collections_.on_event(event, known_.of(*event.type), pointer_size);
    if (!by_kernel_ && event.type->provider == kUniversalEventsProvider) by_kernel_ = true;
    const auto provider = told_ ? analyze::Provider::kOther : providers_.of(*event.type);
    told_ =
        told_ || provider == analyze::Provider::kRuntime || provider == analyze::Provider::kRundown;
  }
}

void TraceEvidence::end_of_trace(const analyze::TraceReader& reader) {
  exceptions_.end_of_trace(reader);
  contention_.end_of_trace(reader);
  pool_.end_of_trace(reader);
  collections_.end_of_trace(reader);
  profile_.end_of_trace(reader);
  providers_.forget();
  lost_ += reader.summary().lost;
}

EventFacts TraceEvidence::events() const {
  EventFacts facts{.length = exceptions_.span().length(),
                   .lost = lost_,
                   .exceptions = exceptions_.all(),
                   .exceptions_counted = exceptions_.only_counted().counted_for(),
                   .exceptions_recorded = exceptions_.only_counted().recorded(),
                   .gc_paused = collections_.paused(),
                   .lock_waits = contention_.all().count + contention_.only_counted().count(),
                   .locks_recorded = contention_.only_counted().recorded()};
  for (const auto* one : exceptions_.ranked()) {
    ThrownType type{.type = one->first, .count = one->second.count, .message = one->second.message};
    for (const auto& [site, count] : one->second.ranked_sites())
      if (type.places.size() < kMostPlaces)
        type.places.push_back(
            {exceptions_.frame(site).method, exceptions_.frame(site).module, count});
    facts.thrown.push_back(std::move(type));
  }
  for (const auto& gc : collections_.all())
    facts.collections.push_back(
        {.number = gc.number,
         .generation = gc.generation,
         .reason = analyze::value_name("GCReason", gc.reason),
         .induced = std::ranges::find(kInduced, gc.reason) != std::end(kInduced),
         .background = gc.background(),
         .pause = gc.pause.value_or(std::chrono::nanoseconds{0}),
         .longest_pause = gc.longest_pause,
         .heap_bytes = gc.heap_after ? gc.heap_after->total_size() : 0,
         .start = gc.start,
         .handles = gc.heap_after ? gc.heap_after->handles : 0,
         .pinned_objects = gc.heap_after ? gc.heap_after->pinned_objects : 0,
         .finalizable = gc.heap_after ? gc.heap_after->finalization_promoted_count : 0});
  for (const auto* site : contention_.sites()) {
    const auto& [frame, waits] = *site;
    LockPlace place{.method = contention_.frame(frame).method,
                    .module = contention_.frame(frame).module,
                    .waits = waits.count,
                    .unfinished = waits.unfinished,
                    .waited = waits.total,
                    .longest = waits.longest};
    for (const auto& [owner, times] : waits.owners) place.owners.push_back(owner);
    facts.locks.push_back(std::move(place));
  }
  facts.pool = {.most_workers = pool_.most_workers(),
                .starvations = pool_.adjusted(analyze::PoolChanges::kStarvation),
                .blockings = pool_.adjusted(analyze::PoolChanges::kBlocking)};
  facts.pool.first_workers = pool_.first_workers().value_or(0);
  facts.pool.last_workers = pool_.last_workers().value_or(0);
  return facts;
}

std::optional<CpuFacts> TraceEvidence::cpu() && {
  return cpu_facts(std::move(profile_).finish(), by_kernel_);
}

std::optional<CpuFacts> cpu_facts(const Profile& profile, bool by_kernel) {
  const auto weights = weigh(profile);
  if (weights.samples == 0) return {};
  CpuFacts facts{.by_kernel = by_kernel,
                 .samples = weights.samples,
                 .length = analyze::between(profile.from, profile.to)};
  std::chrono::nanoseconds running{};
  for (const auto& sample : profile.samples)
    if (sample.state == analyze::ThreadState::kRunning) analyze::grow(running, sample.weight);
  if (by_kernel && facts.length.count() > 0)
    facts.busy =
        std::chrono::duration<double>(running) / std::chrono::duration<double>(facts.length);
  facts.methods = methods_of(profile, weights);
  find_hot_path(profile, weights, facts);
  facts.threads = threads_of(profile, weights);
  return facts;
}

}  // namespace clrscope::doctor
