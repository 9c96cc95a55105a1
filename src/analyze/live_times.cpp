#include "analyze/live_times.h"

#include <algorithm>
#include <map>

#include "analyze/cpu_kinds.h"
#include "analyze/process_names.h"

namespace clrscope::analyze {
namespace {

bool looks_managed(const Frame& frame) {
  if (!frame.method.ends_with('?')) return false;
  return frame.kind == FrameKind::kManaged || frame.kind == FrameKind::kFramework ||
         frame.kind == FrameKind::kUnknown || frame.kind == FrameKind::kDynamic;
}

}  // namespace

void LiveTimes::on_batch(const nettrace::Reader& reader, const nettrace::Batch& batch) {
  for (const Event& event : batch.events) {
    const auto provider = providers_.of(*event.type);
    newest_ = std::max(newest_, event.time);
    if (from_ == TraceTime{}) from_ = event.time;
    if (is_sample(event, provider)) {
      count(reader, event, provider);
    } else if (provider == Provider::kOther) {
      if (auto name = process_name(event)) command_names_[event.process] = std::move(*name);
    } else {
      if (auto name = universal_process_name(event, provider))
        kernel_names_[event.process] = std::move(*name);
      symbols_.on_event(event, provider);
      trust_.on_event(event, provider);
    }
  }
  stacks_.on_batch_end(batch);
}

void LiveTimes::on_names(Bytes trace, ProcessId process) {
  nettrace::Reader reader;
  Providers providers;  // event types are numbered by their own trace
  const auto on_batch = [&](const nettrace::Batch& batch) {
    for (Event event : batch.events) {
      event.process = process;
      const auto provider = providers.of(*event.type);
      if (provider != Provider::kRundown && provider != Provider::kRuntime) continue;
      symbols_.on_event(event, provider);
      trust_.on_event(event, provider);
    }
  };
  if (reader.feed(trace, on_batch)) (void)reader.finish(on_batch);
}

void LiveTimes::count(const nettrace::Reader& reader, const Event& event, Provider provider) {
  const auto state = sample_state(event, provider);
  if (event.process == ProcessId{0}) return;  // an idle processor
  const auto stack = stacks_.intern(reader, event);
  // A stack belongs to one process already.
  const auto key = static_cast<std::uint64_t>(event.thread) << 32 ^
                   static_cast<std::uint64_t>(stack) << 2 ^ static_cast<std::uint64_t>(state);
  const auto [at, is_new] = row_of_.try_emplace(key, static_cast<std::uint32_t>(rows_.size()));
  if (is_new) rows_.push_back({event.process, event.thread, stack, state});
  const auto one = one_sample(reader, event, provider);
  rows_[at->second].sum += one;
  if (keep_ == Keep::kSamples) taken_.push_back({event.time, at->second, one.ns});
}

void LiveTimes::add(const Row& row, LiveInterval& out) {
  stack_frames_.clear();
  if (row.stack != StackId::kNone)
    symbols_.frames(row.process, stacks_.addresses(row.stack), newest_, stack_frames_);
  auto state = row.state;
  if (!stack_frames_.empty() && trust_.doubted(row.process) && state == ThreadState::kWaiting)
    state = state_by_top(frames_.frame(stack_frames_.front()));
  if (state == ThreadState::kWaiting) return;
  out.samples += row.sum.count;
  out.ns += row.sum.ns;
  auto kind = FrameKind::kUnknown;
  if (!stack_frames_.empty()) kind = frames_.frame(stack_frames_.front()).kind;
  out.by_kind[static_cast<std::size_t>(kind)] += row.sum.ns;
  if (stack_frames_.empty()) return;

  ++turn_;
  by_frame_.resize(frames_.size());
  last_in_.resize(frames_.size());
  by_frame_[static_cast<std::size_t>(stack_frames_.front())].self += row.sum.ns;
  bool unnamed = false;
  for (const auto id : stack_frames_) {
    const auto at = static_cast<std::size_t>(id);
    unnamed = unnamed || looks_managed(frames_.frame(id));
    if (std::exchange(last_in_[at], turn_) != turn_) by_frame_[at].total += row.sum.ns;
  }
  if (unnamed) out.unnamed[row.process] += row.sum.ns;
}

std::uint32_t LiveTimes::stack_of(std::span<const FrameId> frames, LiveInterval& out) {
  std::uint32_t stack = 0;
  for (auto at = frames.rbegin(); at != frames.rend(); ++at) {
    const auto [frame, is_new_frame] =
        frame_of_.try_emplace(*at, static_cast<std::uint32_t>(out.frames.size()));
    if (is_new_frame) out.frames.push_back(frames_.frame(*at).method);
    const auto [next, is_new] =
        stack_of_.try_emplace(std::uint64_t{stack} << 32U | frame->second,
                              static_cast<std::uint32_t>(out.stacks.size() + 1));
    if (is_new) out.stacks.push_back({stack, frame->second});
    stack = next->second;
  }
  return stack;
}

LiveInterval LiveTimes::cut(const nettrace::Reader& reader, TraceTime now) {
  LiveInterval out{.from = from_, .to = std::max(from_, now)};
  from_ = out.to;
  symbols_.forget_found();  // names may have come since
  by_frame_.clear();
  last_in_.clear();
  turn_ = 0;
  std::map<std::pair<ProcessId, ThreadId>, LiveThread> threads;
  constexpr auto kWaited = ~std::uint32_t{0};
  std::vector<std::uint32_t> row_stacks(keep_ == Keep::kSamples ? rows_.size() : 0, kWaited);
  for (const auto& row : rows_) {
    const auto before = out.samples;
    add(row, out);
    if (out.samples == before) continue;
    if (keep_ == Keep::kSamples)
      row_stacks[static_cast<std::size_t>(&row - rows_.data())] = stack_of(stack_frames_, out);
    auto& thread = threads[{row.process, row.thread}];
    thread.process = row.process;
    thread.thread = row.thread;
    thread.ns += row.sum.ns;
  }
  for (std::size_t i = 0; i < by_frame_.size(); ++i) {
    if (by_frame_[i].total == 0) continue;
    by_frame_[i].frame = frames_.frame(FrameId{static_cast<std::uint32_t>(i)});
    out.methods.push_back(std::move(by_frame_[i]));
  }
  std::sort(out.methods.begin(), out.methods.end(), [](const LiveMethod& a, const LiveMethod& b) {
    if (a.self != b.self) return a.self > b.self;
    return a.total != b.total ? a.total > b.total : a.frame.method < b.frame.method;
  });
  for (const auto& declared : reader.threads())
    if (const auto found = threads.find({declared.process, declared.thread});
        found != threads.end())
      found->second.name = declared.name;
  for (auto& [key, thread] : threads) {
    for (const auto* names : {&command_names_, &kernel_names_})
      if (const auto name = names->find(thread.process);
          name != names->end() && thread.process_name.empty())
        thread.process_name = name->second;
    out.threads.push_back(std::move(thread));
  }
  std::stable_sort(out.threads.begin(), out.threads.end(),
                   [](const LiveThread& a, const LiveThread& b) { return a.ns > b.ns; });
  for (const auto& [time, row, ns] : taken_)
    if (row_stacks[row] != kWaited)
      out.taken.push_back({.time = time,
                           .thread = static_cast<std::uint32_t>(rows_[row].thread),
                           .stack = row_stacks[row],
                           .weight = std::chrono::nanoseconds{ns}});
  std::ranges::stable_sort(out.taken, {}, &RequestSample::time);
  taken_.clear();
  stack_of_.clear();
  frame_of_.clear();
  rows_.clear();
  row_of_.clear();
  stacks_ = {};
  return out;
}

}  // namespace clrscope::analyze
