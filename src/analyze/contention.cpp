#include "analyze/contention.h"

#include <algorithm>

namespace clrscope::analyze {

using nettrace::Known;
using std::chrono::nanoseconds;

void LockWaits::add(nanoseconds time) {
  ++count;
  grow(total, time);
  longest = std::max(longest, time);
}

void LockWaits::add(const LockWaits& more) {
  count += more.count;
  unfinished += more.unfinished;
  grow(total, more.total);
  longest = std::max(longest, more.longest);
  for (const auto& [owner, times] : more.owners) owners[owner] += times;
}

void Contention::on_batch(const nettrace::Reader& reader, const nettrace::Batch& batch) {
  if (!trace_) trace_.emplace(frames_);
  for (const Event& event : batch.events) {
    if (trace_->providers.of(*event.type) != Provider::kRundown) {
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

void Contention::end_of_trace(const nettrace::Reader& reader) {
  span_.end_of_trace(reader);
  if (!trace_) return;
  for (const auto& [thread, open] : trace_->open) add(open, between(open.begin, trace_->last), 1);
  for (const auto& [stack, waits] : trace_->by_stack) sites_[trace_->sites.site(stack)].add(waits);
  locks_ += trace_->by_lock.size();
  trace_.reset();
}

void Contention::begin(const nettrace::Reader& reader, const Event& event) {
  const auto start =
      nettrace::read_as<nettrace::ContentionStart>(event, reader.info()->pointer_size);
  if (!start) return;
  trace_->open[{event.process, event.thread}] = {event.time, trace_->sites.stack_of(reader, event),
                                                 start->lock, start->owner_thread};
}

void Contention::end(const nettrace::Reader& reader, const Event& event) {
  const auto stop = nettrace::read_as<nettrace::ContentionStop>(event, reader.info()->pointer_size);
  const auto found = trace_->open.find({event.process, event.thread});
  auto time = whole_ns(stop ? stop->duration_ns : 0);
  Open open{event.time, StackId::kNone, 0, 0};  // began before the trace
  if (found != trace_->open.end()) {
    open = found->second;
    if (time.count() <= 0) time = between(open.begin, event.time);
    trace_->open.erase(found);
  }
  add(open, time, 0);
}

void Contention::add(const Open& open, nanoseconds time, std::uint64_t unfinished) {
  auto& waits = trace_->by_stack[open.stack];
  waits.add(time);
  waits.unfinished += unfinished;
  if (open.owner != 0) ++waits.owners[open.owner];
  if (open.lock != 0) trace_->by_lock[open.lock].add(time);
  all_.add(time);
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
