#include "analyze/allocation_counts.h"

#include <algorithm>
#include <cmath>

namespace clrscope::analyze {
namespace {

using nettrace::Known;

constexpr double kSamplingDistance = 102'400;

}  // namespace

void AllocationCounts::on_batch(const nettrace::Reader& reader, const nettrace::Batch& batch) {
  if (!trace_) trace_.emplace(frames_);
  for (const Event& event : batch.events) {
    if (trace_->providers.of(*event.type) != Provider::kRundown) span_.on_event(event.time);
    switch (trace_->known.of(*event.type)) {
      case Known::kAllocationTick:
        on_tick(reader, event);
        break;
      case Known::kAllocationSampled:
        on_sampled(reader, event);
        break;
      default:
        trace_->sites.on_other(event);
    }
  }
  trace_->sites.on_batch_end(batch);
}

void AllocationCounts::end_of_trace(const nettrace::Reader& reader) {
  span_.end_of_trace(reader);
  if (!trace_) return;
  settle(trace_->ticks, ticks_);
  settle(trace_->sampled, sampled_);
  trace_.reset();
}

void AllocationCounts::on_tick(const nettrace::Reader& reader, const Event& event) {
  const auto tick = nettrace::read_as<nettrace::AllocationTick>(event, reader.info()->pointer_size);
  if (!tick) return;
  const auto bytes = static_cast<double>(tick->amount);
  const auto size = static_cast<double>(tick->object_size);
  trace_->ticks[key(reader, event, tick->type_name)].add(
      {1, bytes, size > 0 ? std::max(1.0, bytes / size) : 0});
}

void AllocationCounts::on_sampled(const nettrace::Reader& reader, const Event& event) {
  const auto one =
      nettrace::read_as<nettrace::AllocationSampled>(event, reader.info()->pointer_size);
  if (!one || one->object_size == 0) return;
  const auto size = static_cast<double>(one->object_size);
  const auto objects = 1 / -std::expm1(-size / kSamplingDistance);
  trace_->sampled[key(reader, event, one->type_name)].add({1, size * objects, objects});
}

std::pair<StringId, StackId> AllocationCounts::key(const nettrace::Reader& reader,
                                                   const Event& event, Bytes name) {
  return {names_.intern(utf8_of(name)), trace_->sites.stack_of(reader, event)};
}

void AllocationCounts::settle(const ByStack& from, Tally& to) {
  for (const auto& [what, amount] : from) {
    const std::string type{names_.text(what.first)};
    to.all.add(amount);
    to.types[type].add(amount);
    to.sites[{trace_->sites.site(what.second), type}].add(amount);
  }
}

}  // namespace clrscope::analyze
