#include "analyze/calls.h"

#include <algorithm>

namespace clrscope::analyze {

void Calls::on_event(const nettrace::Reader& reader, const Event& event) {
  const auto call = read_(event, trace_->plans.of(event));
  if (call.phase == CallEvent::Phase::kNone) return;
  const auto activity =
      event.activity ? event.activity->bytes : decltype(OpenCalls::Key::activity){};
  const OpenCalls::Key key{event.process, activity, event.activity ? ThreadId{} : event.thread};
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

void Calls::settle(const OpenCalls::Call& call) {
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

}  // namespace clrscope::analyze
