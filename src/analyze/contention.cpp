#include "analyze/contention.h"

#include <algorithm>

namespace clrscope::analyze {

using nettrace::Known;

void LockWaits::add(const LockWaits& more) {
  Times::add(more);
  for (const auto& [owner, times] : more.owners) owners[owner] += times;
}

void Contention::on_batch(const nettrace::Reader& reader, const nettrace::Batch& batch) {
  if (!trace_) trace_.emplace(frames_, line_at_);
  for (const Event& event : batch.events) {
    const auto provider = trace_->providers.of(*event.type);
    if (provider == Provider::kUniversalEvents && only_counted_.on_event(reader, event))
      trace_->waits.forget(event.process);
    if (provider != Provider::kRundown) {
      span_.on_event(event.time);
      trace_->last = std::max(trace_->last, event.time);
    }
    const auto known = trace_->known.of(*event.type);
    if (known == Known::kContentionStart)
      begin(reader, event);
    else if (known == Known::kContentionStop)
      end(reader, event);
    else
      trace_->sites.on_other(event);
  }
  trace_->sites.on_batch_end(batch);
}

void LockWaitPairs::begin(const Event& event, const nettrace::ContentionStart& start,
                          StackId stack) {
  open_[{event.process, event.thread}] = {event.time, stack, start.lock, start.owner_thread};
}

LockWaitPairs::Wait LockWaitPairs::end(const Event& event,
                                       const std::optional<nettrace::ContentionStop>& stop) {
  Wait wait{.begin = event.time};  // unless it began in the trace
  wait.time = whole_ns(stop ? stop->duration_ns : 0);
  const auto found = open_.find({event.process, event.thread});
  if (found == open_.end()) return wait;
  const auto told = wait.time;
  wait = found->second;
  wait.time = told.count() > 0 ? told : between(wait.begin, event.time);
  open_.erase(found);
  return wait;
}

std::vector<LockWaitPairs::Wait> LockWaitPairs::take_open(TraceTime now) {
  std::vector<Wait> all;
  for (auto& [thread, wait] : open_) {
    wait.time = between(wait.begin, now);
    all.push_back(wait);
  }
  open_.clear();
  return all;
}

void LockWaitPairs::forget(ProcessId process) {
  std::erase_if(open_, [&](const auto& one) { return one.first.first == process; });
}

void Contention::end_of_trace(const nettrace::Reader& reader) {
  span_.end_of_trace(reader);
  only_counted_.end_of_trace();
  if (!trace_) return;
  for (const auto& wait : trace_->waits.take_open(trace_->last)) add(wait, 1);
  for (const auto& [stack, waits] : trace_->by_stack) sites_[trace_->sites.site(stack)].add(waits);
  locks_ += trace_->by_lock.size();
  trace_.reset();
}

void Contention::begin(const nettrace::Reader& reader, const Event& event) {
  const auto start =
      nettrace::read_as<nettrace::ContentionStart>(event, reader.info()->pointer_size);
  only_counted_.on_recorded(event);
  if (start) trace_->waits.begin(event, *start, trace_->sites.stack_of(reader, event));
}

void Contention::end(const nettrace::Reader& reader, const Event& event) {
  add(trace_->waits.end(
          event, nettrace::read_as<nettrace::ContentionStop>(event, reader.info()->pointer_size)),
      0);
}

void Contention::add(const LockWaitPairs::Wait& wait, std::uint64_t unfinished) {
  auto& waits = trace_->by_stack[wait.stack];
  waits.add(wait.time);
  waits.unfinished += unfinished;
  if (wait.owner != 0) ++waits.owners[wait.owner];
  if (wait.lock != 0) trace_->by_lock[wait.lock].add(wait.time);
  all_.add(wait.time);
  all_.unfinished += unfinished;
}

std::vector<const Contention::Site*> Contention::sites() const {
  std::vector<const Site*> all;
  for (const auto& one : sites_) all.push_back(&one);
  std::stable_sort(all.begin(), all.end(),
                   [](auto* a, auto* b) { return a->second.total > b->second.total; });
  return all;
}

}  // namespace clrscope::analyze
