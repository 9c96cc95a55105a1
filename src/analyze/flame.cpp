#include "analyze/flame.h"

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>

namespace clrscope::analyze {
namespace {

using Teller = FlameGraph::Teller;

constexpr std::uint64_t kNsInUs = 1000;
constexpr ProcessId kIdle{0};

std::uint64_t micros(std::uint64_t ns) { return (ns + kNsInUs / 2) / kNsInUs; }

std::uint64_t pair_of(std::uint64_t high, std::uint64_t low) { return high << 32 | low; }

}  // namespace

std::span<const std::string_view> names_of(Teller) {
  static constexpr std::array<std::string_view, 4> kNames{"", "kernel", "runtime", "agent"};
  return kNames;
}

void FlameBuilder::on_batch(const nettrace::Reader& reader, const nettrace::Batch& batch) {
  for (const Event& event : batch.events) {
    const auto provider = providers_.of(*event.type);
    if (provider == Provider::kSampler && is_sample(event, provider)) ++sampler_events_;
  }
  kernel_.on_batch(reader, keep_ ? kept(batch) : batch);
  runtime_.on_batch(reader, batch);
}

// Without the kernel's samples that do not count, and without its switches. The runtime's samples
// are filtered later: each stands for the time to the next one of its thread.
nettrace::Batch FlameBuilder::kept(const nettrace::Batch& batch) {
  kept_.clear();
  for (const Event& event : batch.events) {
    if (providers_.of(*event.type) == Provider::kUniversalEvents) {
      if (event.type->name == "cswitch") continue;
      if (event.type->name == "cpu" && !keep_(event.thread, event.time)) continue;
    }
    kept_.push_back(event);
  }
  return {.events = kept_, .sequence_point = batch.sequence_point};
}

void FlameBuilder::end_of_trace(const nettrace::Reader& reader) {
  graph_.nodes.assign(1, {});
  names_.intern({.method = "all"});
  // Where both sampled, time would count twice. The kernel knows better who was on a processor; of
  // waiting it knows only with switches.
  kernel_.end_of_trace(reader, [&](const StackSamples& samples, std::span<const FrameId> frames) {
    add_kernel(samples, frames);
  });
  if (kernel_.cpu_samples() > 0)
    graph_.on_from = kernel_.by_agent() ? Teller::kAgent : Teller::kKernel;
  if (kernel_.switches() > 0) graph_.off_from = Teller::kKernel;
  runtime_.end_of_trace(reader);
  const auto profile = std::move(runtime_).finish();
  for (const auto& process : profile.processes) note_process(process.process, process.name);
  if (sampler_events_ > 0) add_runtime(profile);
  graph_.start = profile.start;
  graph_.duration_ms = std::chrono::duration<double, std::milli>(profile.to - profile.from).count();
  if (graph_.duration_ms < 0) graph_.duration_ms = 0;
  graph_.lost = reader.summary().lost;
  fold();
  order();
  graph_.names = std::move(names_).take();
}

void FlameBuilder::add_kernel(const StackSamples& samples, std::span<const FrameId> frames) {
  const auto& by = kernel_.threads()[samples.thread];
  if (by.process == kIdle) {
    if (samples.what == Sampled::kCpu) graph_.idle += samples.count;
    return;
  }
  note_process(by.process, by.process_name);
  std::uint32_t node = 0;
  for (auto frame = frames.rbegin(); frame != frames.rend(); ++frame)
    node = child(node, name_of(kernel_frames_.frame(*frame)));
  if (frames.empty()) graph_.without_stack += samples.count;
  if (samples.unfinished) {
    node = child(node, name_of({.method = "[still waiting]"}));
    graph_.unfinished += samples.count;
  }
  Row row{.thread = thread_of(by.process, by.thread, by.name), .node = node};
  if (samples.what == Sampled::kCpu) {
    row.samples = samples.count;
    row.on_us = micros(samples.value);
  } else {
    row.waits = samples.count;
    row.off_us = micros(samples.value);
  }
  add(row);
}

void FlameBuilder::add_runtime(const Profile& profile) {
  const bool on = graph_.on_from == Teller::kNobody;
  const bool off = graph_.off_from == Teller::kNobody && !keep_;
  constexpr auto kUnset = std::numeric_limits<std::uint32_t>::max();
  std::vector<std::uint32_t> node_of(profile.stacks.size(), kUnset);
  node_of[0] = 0;
  const auto resolve = [&](StackNodeId id) {
    std::vector<std::uint32_t> path;
    auto at = static_cast<std::uint32_t>(id);
    for (; node_of[at] == kUnset; at = static_cast<std::uint32_t>(profile.stacks[at].parent))
      path.push_back(at);
    auto node = node_of[at];
    for (auto step = path.rbegin(); step != path.rend(); ++step)
      node = node_of[*step] = child(node, name_of(profile.frame(profile.stacks[*step].frame)));
    return node;
  };
  for (const auto& sample : profile.samples) {
    const bool waiting = sample.state == ThreadState::kWaiting;
    if (waiting ? !off : !on) continue;
    const auto& by = profile.threads[sample.thread];
    if (keep_ && !keep_(by.thread, sample.time)) continue;
    if (sample.stack == kNoStack) ++graph_.without_stack;
    const auto us = micros(static_cast<std::uint64_t>(
        std::max<std::int64_t>(0, std::chrono::nanoseconds{sample.weight}.count())));
    add({.thread = thread_of(by.process, by.thread, by.name),
         .node = resolve(sample.stack),
         .samples = waiting ? 0U : 1U,
         .waits = waiting ? 1U : 0U,
         .on_us = waiting ? 0 : us,
         .off_us = waiting ? us : 0});
  }
  if (on) graph_.on_from = Teller::kRuntime;
  if (off) graph_.off_from = Teller::kRuntime;
}

void FlameBuilder::add(const Row& row) {
  graph_.samples += row.samples;
  graph_.waits += row.waits;
  const auto next = static_cast<std::uint32_t>(graph_.rows.size());
  const auto [at, is_new] = rows_.try_emplace(pair_of(row.thread, row.node), next);
  if (is_new) {
    graph_.rows.push_back(row);
    return;
  }
  auto& same = graph_.rows[at->second];
  same.samples += row.samples;
  same.waits += row.waits;
  same.on_us += row.on_us;
  same.off_us += row.off_us;
}

std::uint32_t FlameBuilder::name_of(const Frame& frame) {
  return static_cast<std::uint32_t>(names_.intern(frame));
}

std::uint32_t FlameBuilder::child(std::uint32_t parent, std::uint32_t name) {
  auto& nodes = graph_.nodes;
  const std::uint32_t key[] = {parent, name};
  const auto hash = hash_bytes(key, sizeof key);
  auto id = children_.find(hash, [&](std::uint32_t i) {
    return i != 0 && nodes[i].parent == parent && nodes[i].name == name;
  });
  if (id == HashIndex::kNone) {
    id = static_cast<std::uint32_t>(nodes.size());
    nodes.push_back({parent, name});
    children_.insert(hash, id);
  }
  return id;
}

std::uint32_t FlameBuilder::thread_of(ProcessId process, ThreadId thread, const std::string& name) {
  const auto key = static_cast<std::uint64_t>(thread) ^ static_cast<std::uint64_t>(process) << 32;
  const auto next = static_cast<std::uint32_t>(graph_.threads.size());
  const auto [at, is_new] = threads_.try_emplace(key, next);
  if (is_new) graph_.threads.push_back({process, thread, name});
  return at->second;
}

// The first that names it wins: the kernel's own view comes first, and has the runtime's word.
void FlameBuilder::note_process(ProcessId process, const std::string& name) {
  const auto [at, is_new] = processes_.try_emplace(process, graph_.processes.size());
  if (is_new) graph_.processes.push_back({process, name});
  auto& known = graph_.processes[at->second];
  if (known.name.empty()) known.name = name;
}

// Of each node with all below it. A parent stands before its children.
std::vector<std::uint64_t> FlameBuilder::totals() const {
  std::vector<std::uint64_t> total(graph_.nodes.size());
  for (const auto& row : graph_.rows) total[row.node] += row.on_us + row.off_us;
  for (auto i = total.size(); i-- > 1;) total[graph_.nodes[i].parent] += total[i];
  return total;
}

// Nodes without weight go, and where there are too many the small ones: what they had is their
// nearest ancestor's that stays.
void FlameBuilder::fold() {
  auto& nodes = graph_.nodes;
  const auto total = totals();
  std::uint64_t least = 1;
  const auto kept = [&] {
    return static_cast<std::size_t>(
        std::count_if(total.begin(), total.end(), [&](std::uint64_t one) { return one >= least; }));
  };
  const auto weighty = kept();
  while (kept() > most_nodes_) least *= 2;
  graph_.folded = weighty - std::min(weighty, kept());

  std::vector<std::uint32_t> moved(nodes.size());
  std::vector<FlameGraph::Node> stay{nodes[0]};
  for (std::uint32_t i = 1; i < nodes.size(); ++i) {
    const auto parent = moved[nodes[i].parent];
    moved[i] = parent;
    if (total[i] < least) continue;
    moved[i] = static_cast<std::uint32_t>(stay.size());
    stay.push_back({parent, nodes[i].name});
  }
  nodes = std::move(stay);
  std::erase_if(graph_.rows, [](const Row& row) { return row.on_us + row.off_us == 0; });
  for (auto& row : graph_.rows) row.node = moved[row.node];
}

// Level by level; siblings by weight, equal ones by name; rows by node and thread.
void FlameBuilder::order() {
  auto& nodes = graph_.nodes;
  const auto total = totals();
  const auto count = static_cast<std::uint32_t>(nodes.size());
  std::vector<std::uint32_t> by_parent(count - 1);
  std::iota(by_parent.begin(), by_parent.end(), 1U);
  std::sort(by_parent.begin(), by_parent.end(), [&](std::uint32_t a, std::uint32_t b) {
    if (nodes[a].parent != nodes[b].parent) return nodes[a].parent < nodes[b].parent;
    if (total[a] != total[b]) return total[a] > total[b];
    const auto& left = names_.frame(FrameId{nodes[a].name});
    const auto& right = names_.frame(FrameId{nodes[b].name});
    return left.method != right.method ? left.method < right.method : left.module < right.module;
  });
  std::vector<std::uint32_t> first(count + 1);
  for (const auto i : by_parent) ++first[nodes[i].parent + 1];
  std::partial_sum(first.begin(), first.end(), first.begin());

  std::vector<std::uint32_t> queue{0};
  std::vector<std::uint32_t> place(count);
  std::vector<FlameGraph::Node> ordered{nodes[0]};
  for (std::size_t at = 0; at < queue.size(); ++at)
    for (auto i = first[queue[at]]; i < first[queue[at] + 1]; ++i) {
      place[by_parent[i]] = static_cast<std::uint32_t>(queue.size());
      queue.push_back(by_parent[i]);
      ordered.push_back({static_cast<std::uint32_t>(at), nodes[by_parent[i]].name});
    }
  nodes = std::move(ordered);

  for (auto& row : graph_.rows) row.node = place[row.node];
  std::sort(graph_.rows.begin(), graph_.rows.end(), [](const Row& a, const Row& b) {
    return pair_of(a.node, a.thread) < pair_of(b.node, b.thread);
  });
}

FlameGraph FlameBuilder::finish() && { return std::move(graph_); }

}  // namespace clrscope::analyze
