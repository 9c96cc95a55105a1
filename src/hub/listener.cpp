#include "hub/listener.h"

#include <utility>

namespace clrscope::hub {

Listener::Listener(SessionWish wish, std::unique_ptr<Sink> sink, std::size_t queue_batches)
    : wish_(std::move(wish)),
      sink_(std::move(sink)),
      aggregate_(wish_.interval),
      inbox_(queue_batches),
      worker_([this](const std::stop_token& stop) { run(stop); }) {}

void Listener::offer(Batch batch) {
  const auto count = batch.rows.size();
  if (!inbox_.try_push(std::move(batch))) dropped_ += count;
}

void Listener::source_changed(std::shared_ptr<const SourceInfo> source, SourceChange change) {
  (void)inbox_.try_push(Change{std::move(source), change});
}

void Listener::finish() {
  worker_.request_stop();
  if (worker_.joinable()) worker_.join();
}

SessionSummary Listener::summary() const {
  return {.events = events_,
          .counters = counters_,
          .dropped = dropped_,
          .lost = lost_,
          .failures = failures_,
          .last_failure = last_failure_.with([](const auto& text) { return text; }),
          .lag = std::chrono::nanoseconds{lag_.load()},
          .state = sink_->state()};
}

void Listener::note(const Result<>& done) {
  if (done) return;
  ++failures_;
  last_failure_.with([&](auto& text) { text = done.error().what; });
}

void Listener::run(const std::stop_token& stop) {
  note(sink_->open());
  auto ticked = TraceClock::now();
  for (;;) {
    auto item = inbox_.pop_for(stop, std::chrono::milliseconds{250});
    if (item) {
      if (auto* batch = std::get_if<Batch>(&*item))
        take(*batch);
      else
        take(std::get<Change>(*item));
    } else if (stop.stop_requested()) {
      break;
    }
    if (TraceClock::now() - ticked >= std::chrono::seconds{1}) {
      ticked = TraceClock::now();
      note(sink_->on_tick());
    }
  }
  note(sink_->close(summary()));
}

void Listener::take(const Change& change) {
  note(sink_->on_source(*change.source, change.change));
  if (change.change == SourceChange::kGone)
    std::erase_if(knowledge_,
                  [&](const auto& one) { return one.second.source == change.source->id; });
}

void Listener::take(Batch& batch) {
  const auto& block = *batch.block;
  auto& known =
      knowledge_.try_emplace(block.reader(), block.source().id, block.pointer_size()).first->second;
  if (const auto dropped = dropped_.load(); dropped != told_dropped_)
    note(sink_->on_dropped(dropped - std::exchange(told_dropped_, dropped)));
  if (!batch.rows.empty())
    lag_ = (TraceClock::now() - block.events()[batch.rows.back()].time).count();
  std::vector<CounterValue> values;
  std::vector<std::uint32_t> rows;
  for (const auto row : batch.rows) {
    const auto& event = block.events()[row];
    if (event.type->id == nettrace::kManifestEventId)
      known.manifests.add(event.type->provider, event.payload);
    const auto& plan = known.plans.of(*event.type);
    if (!wish_.counters.empty()) {
      if (auto value = known.counters.decode(event, plan)) {
        if (!wanted(wish_.counters, *value)) continue;
        value->time = block.wall_of(event);
        value->pid = block.source().pid;
        value->process = block.source().process;
        for (auto& done : aggregate_.add(std::move(*value))) values.push_back(std::move(done));
        continue;
      }
    }
    if (event.type->id == nettrace::kManifestEventId) continue;
    bool asked = false;
    for (const auto& one : wish_.providers) asked = asked || matches(one, *event.type);
    if (asked && wish_.where.passes(event, plan)) rows.push_back(row);
  }
  if (!rows.empty()) {
    events_ += rows.size();
    note(sink_->on_batch({batch.block, std::move(rows)}));
  }
  if (!values.empty()) {
    counters_ += values.size();
    note(sink_->on_counters(values));
  }
}

}  // namespace clrscope::hub
