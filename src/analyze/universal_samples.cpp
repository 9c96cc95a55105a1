#include "analyze/universal_samples.h"

#include <fmt/format.h>

#include <algorithm>

#include "analyze/durations.h"
#include "analyze/process_names.h"
#include "model/sampling.h"

namespace clrscope::analyze {
namespace {

std::optional<Sampled> sampled(const EventType& type) {
  if (type.name == "cpu") return Sampled::kCpu;
  if (type.name == "cswitch") return Sampled::kSwitch;
  return std::nullopt;
}

std::uint64_t thread_key(ProcessId process, ThreadId thread) {
  return static_cast<std::uint64_t>(thread) ^ static_cast<std::uint64_t>(process) << 32;
}

}  // namespace

void UniversalSamples::on_batch(const nettrace::Reader& reader, const nettrace::Batch& batch) {
  if (!trace_) trace_.emplace(frames_);
  for (const Event& event : batch.events) {
    const auto provider = trace_->providers.of(*event.type);
    if (provider == Provider::kUniversalEvents) {
      span_.on_event(event.time);
      if (const auto what = sampled(*event.type))
        count(reader, event, *what);
      else if (event.type->name == "waits_ended")
        on_waits_ended(reader, event);
      else if (event.type->name == "lock_waits_ended")
        trace_->waits.forget_locks(event.process, event.time);
      else if (event.type->name == kSampledByAgent)
        by_agent_ = true;
      continue;
    }
    if (provider == Provider::kOther || provider == Provider::kRuntime) span_.on_event(event.time);
    if (provider == Provider::kOther) {
      if (auto name = process_name(event)) trace_->command_names[event.process] = std::move(*name);
    } else {
      if (auto name = universal_process_name(event, provider))
        trace_->names[event.process] = std::move(*name);
      if (provider == Provider::kRuntime && wanted_ != Wanted::kCpu &&
          trace_->waits.on_event(reader, event, trace_->stacks))
        continue;
      trace_->symbols.on_event(event, provider);
    }
  }
  trace_->stacks.on_batch_end(batch);
  for (const Event& event : batch.events) trace_->newest = std::max(trace_->newest, event.time);
  if (trace_->newest != TraceTime::min()) settle(earlier(trace_->newest, ClrWaits::kDisorder));
}

void UniversalSamples::count(const nettrace::Reader& reader, const Event& event, Sampled what) {
  ++(what == Sampled::kCpu ? cpu_samples_ : switches_);
  if (wanted_ == (what == Sampled::kCpu ? Wanted::kSwitches : Wanted::kCpu)) return;
  const auto thread = thread_index(event);
  const auto stack = trace_->stacks.intern(reader, event);
  if (what == Sampled::kSwitch) {
    ByteReader in{event.payload};
    auto value = in.read_varuint();
    if (!in.ok()) value = 0;
    // Traces of others do not say whether it wanted to run on, nor whether it did not yet.
    const bool preempted = in.read_varuint() != 0;
    const bool unfinished = in.read_varuint() != 0;
    trace_->switches.push_back(
        {event.time, value, event.process, event.thread, thread, stack, preempted, unfinished});
    return;
  }
  auto& counted = row(0, {.what = what, .thread = thread, .stack = stack});
  ++counted.count;
  counted.value += one_sample(reader, event, Provider::kUniversalEvents).ns;
}

void UniversalSamples::on_waits_ended(const nettrace::Reader& reader, const Event& event) {
  ByteReader in{event.payload};
  const auto per_second = in.read_varuint();
  const auto* info = reader.info();
  if (!in.ok() || !info) return;
  waits_ended_ = {.recorded = between(info->begin(), event.time), .per_second = per_second};
}

StackSamples& UniversalSamples::row(std::size_t kind, const StackSamples& like) {
  const auto key = std::uint64_t{like.thread} << 32 | static_cast<std::uint32_t>(like.stack);
  auto& rows = trace_->rows;
  const auto [at, is_new] =
      trace_->row_of[kind].try_emplace(key, static_cast<std::uint32_t>(rows.size()));
  if (is_new) rows.push_back(like);
  return rows[at->second];
}

// What the runtimes say of switches up to then has been read by now.
void UniversalSamples::settle(TraceTime up_to) {
  constexpr std::size_t kMost = 1'000'000;
  auto& all = trace_->switches;
  for (; !all.empty() && (all.front().time < up_to || all.size() > kMost); all.pop_front()) {
    const auto& one = all.front();
    const auto told =
        trace_->waits.at(one.process, one.thread, earlier(one.time, one.value), one.time);
    const bool by_runtime = one.stack == StackId::kNone && !one.preempted;
    const auto kind = static_cast<std::size_t>(told.what) + (one.preempted ? kClrWaits : 0) +
                      (one.unfinished ? 2 * kClrWaits : 0);
    auto& counted = row(1 + kind, {.what = Sampled::kSwitch,
                                   .told = told.what,
                                   .preempted = one.preempted,
                                   .unfinished = one.unfinished,
                                   .thread = one.index,
                                   .stack = by_runtime ? told.stack : one.stack});
    ++counted.count;
    counted.value += one.value;
    if (one.value <= counted.longest) continue;
    counted.longest = one.value;
    counted.longest_at = one.time;
  }
}

std::uint32_t UniversalSamples::thread_index(const Event& event) {
  const auto next = static_cast<std::uint32_t>(threads_.size());
  const auto [at, is_new] =
      trace_->thread_of.try_emplace(thread_key(event.process, event.thread), next);
  if (is_new)
    threads_.push_back({.process = event.process, .thread = event.thread, .trace = traces_});
  return at->second;
}

void UniversalSamples::end_of_trace(const nettrace::Reader& reader, const OnStack& on_stack) {
  if (!trace_) return;
  settle(TraceTime::max());
  for (const auto& declared : reader.threads())
    if (const auto found = trace_->thread_of.find(thread_key(declared.process, declared.thread));
        found != trace_->thread_of.end())
      threads_[found->second].name = declared.name;
  for (auto& thread : threads_) {
    if (thread.trace != traces_) continue;
    for (const auto* names : {&trace_->command_names, &trace_->names})
      if (const auto name = names->find(thread.process);
          name != names->end() && thread.process_name.empty())
        thread.process_name = name->second;
    // A program that began meanwhile: its first thread bears its name.
    if (thread.name.empty() &&
        static_cast<std::int64_t>(thread.thread) == static_cast<std::int32_t>(thread.process))
      thread.name = thread.process_name;
  }
  if (const auto* info = reader.info(); info && info->sampling_ns != 0)
    period_ = std::chrono::nanoseconds{info->sampling_ns};
  span_.end_of_trace(reader);

  std::vector<FrameId> frames;
  for (const auto& row : trace_->rows) {
    frames.clear();
    if (row.stack != StackId::kNone)
      trace_->symbols.frames(trace_->stacks.process(row.stack), trace_->stacks.addresses(row.stack),
                             trace_->stacks.first_seen(row.stack), frames);
    on_stack(row, frames);
  }
  trace_.reset();
  ++traces_;
}

std::string process_text(const SampledThread& thread) {
  const auto pid = static_cast<std::int32_t>(thread.process);
  if (thread.process_name.empty()) return fmt::format("{}", pid);
  return fmt::format("{} ({})", thread.process_name, pid);
}

}  // namespace clrscope::analyze
