#include "analyze/universal_samples.h"

#include <fmt/format.h>

#include <algorithm>

#include "analyze/process_names.h"

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
      if (const auto what = sampled(*event.type)) count(reader, event, *what);
      continue;
    }
    if (provider == Provider::kOther || provider == Provider::kRuntime) span_.on_event(event.time);
    if (provider == Provider::kOther) {
      if (auto name = process_name(event)) trace_->command_names[event.process] = std::move(*name);
    } else {
      if (auto name = universal_process_name(event, provider))
        trace_->names[event.process] = std::move(*name);
      trace_->symbols.on_event(event, provider);
    }
  }
  trace_->stacks.on_batch_end(batch);
}

void UniversalSamples::count(const nettrace::Reader& reader, const Event& event, Sampled what) {
  ++(what == Sampled::kCpu ? cpu_samples_ : switches_);
  if (wanted_ == (what == Sampled::kCpu ? Wanted::kSwitches : Wanted::kCpu)) return;
  const auto thread = thread_index(event);
  const auto stack = trace_->stacks.intern(reader, event);
  const auto key = std::uint64_t{thread} << 32 | static_cast<std::uint32_t>(stack);
  auto& rows = trace_->rows;
  const auto [at, is_new] = trace_->row_of[static_cast<std::size_t>(what)].try_emplace(
      key, static_cast<std::uint32_t>(rows.size()));
  if (is_new) rows.push_back({.what = what, .thread = thread, .stack = stack});
  auto& row = rows[at->second];
  ByteReader in{event.payload};
  const auto value = in.read_varuint();
  ++row.count;
  if (!in.ok()) return;
  row.value += value;
  if (value > row.longest) {
    row.longest = value;
    row.longest_at = event.time;
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
