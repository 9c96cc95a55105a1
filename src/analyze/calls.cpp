#include "analyze/calls.h"

#include <algorithm>

namespace clrscope::analyze {

void Calls::Times::add(std::chrono::nanoseconds time) {
  ++count;
  grow(total, time);
  longest = std::max(longest, time);
}

void Calls::Times::add(const Times& more) {
  count += more.count;
  failed += more.failed;
  unfinished += more.unfinished;
  grow(total, more.total);
  longest = std::max(longest, more.longest);
}

void Calls::on_batch(const nettrace::Reader& reader, const nettrace::Batch& batch) {
  if (!trace_) trace_.emplace(frames_, reader.info() ? reader.info()->pointer_size : 8);
  for (const Event& event : batch.events) {
    if (trace_->providers.of(*event.type) != Provider::kRundown) {
      span_.on_event(event.time);
      trace_->last = std::max(trace_->last, event.time);
    }
    if (event.type->provider == provider_)
      on_event(reader, event);
    else
      trace_->sites.on_other(event);
  }
  trace_->sites.on_batch_end(batch);
}

void Calls::on_event(const nettrace::Reader& reader, const Event& event) {
  const auto call = read_(event, trace_->plans.of(event));
  if (call.phase == CallEvent::Phase::kNone) return;
  const auto activity = event.activity ? event.activity->bytes : decltype(Key::activity){};
  const Key key{event.process, activity, event.activity ? ThreadId{} : event.thread};
  auto& open = trace_->open[key];
  if (call.phase == CallEvent::Phase::kFailed) {
    open.failed = true;  // its end follows
    return;
  }
  if (call.phase == CallEvent::Phase::kBegin) {
    open.begin = event.time;
    open.what = call.what;
    open.stack = trace_->sites.stack_of(reader, event);
  } else {
    open.end = event.time;
  }
  if (!open.begin || !open.end) return;
  settle(open);
  trace_->open.erase(key);
}

void Calls::settle(const Open& call) {
  auto& times = trace_->by_stack[{call.what, call.stack}];
  times.add(between(*call.begin, call.end.value_or(trace_->last)));
  times.failed += call.failed ? 1 : 0;
  times.unfinished += call.end ? 0 : 1;
}

void Calls::end_of_trace(const nettrace::Reader& reader) {
  span_.end_of_trace(reader);
  if (!trace_) return;
  for (const auto& [key, open] : trace_->open)
    if (open.begin) settle(open);  // the others began before the trace did
  for (const auto& [key, times] : trace_->by_stack) {
    auto& command = commands_[key.first];
    command.times.add(times);
    command.callers[trace_->sites.caller(key.second)].add(times);
    all_.add(times);
  }
  trace_.reset();
}

std::vector<const Calls::Named*> Calls::ranked() const {
  std::vector<const Named*> all;
  for (const auto& one : commands_) all.push_back(&one);
  std::ranges::stable_sort(all, std::greater{},
                           [](const Named* one) { return one->second.times.total; });
  return all;
}

std::string text_field(const Event& event, const nettrace::PayloadPlan& plan,
                       std::string_view name) {
  const auto at = plan.find(name);
  const auto value = at ? nettrace::read_field(plan, *at, event.payload) : std::nullopt;
  return value ? nettrace::text_of(*value) : std::string{};
}

}  // namespace clrscope::analyze
