#include "hub/listener.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/text.h"

namespace clrscope::hub {
namespace {

// Of blocks; those that several listeners share count for each.
constexpr std::size_t kMaxQueuedBytes = 32 << 20;
constexpr std::chrono::seconds kLastWait{2};
constexpr std::chrono::nanoseconds kLeastWait = std::chrono::milliseconds{1};
constexpr std::size_t kMaxNotices = 32;

}  // namespace

Listener::Listener(SessionRequest request, std::unique_ptr<Sink> sink, std::size_t queue_batches)
    : request_(std::move(request)),
      sink_(std::move(sink)),
      aggregate_(request_.interval),
      series_(std::max<std::size_t>(SeriesLimit::kPerMetric, request_.limits.series),
              std::max<std::size_t>(SeriesLimit::kPerProcess, request_.limits.series)),
      wants_derived_(std::any_of(request_.counters.begin(), request_.counters.end(),
                                 [](const auto& one) { return one.provider == kDerivedProvider; })),
      inbox_(queue_batches, kMaxQueuedBytes),
      waits_until_(request_.waits ? TraceTime::max() : TraceTime::min()),
      worker_([this](const std::stop_token& stop) { run(stop); }) {}

void Listener::offer(Batch batch) {
  const auto count = batch.rows.size();
  const auto bytes = batch.block->bytes();
  Item item{std::move(batch)};
  while (TraceClock::now() < waits_until_.load())
    if (inbox_.push_for(std::chrono::milliseconds{100}, item, bytes)) return;
  if (!inbox_.try_push(std::move(item), bytes)) dropped_ += count;
}

void Listener::stop_waiting() {
  if (request_.waits) waits_until_ = TraceClock::now() + kLastWait;
}

void Listener::source_changed(std::shared_ptr<const SourceInfo> source, SourceChange change) {
  inbox_.push_anyway(Change{std::move(source), change});
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
          .left_out = left_out_,
          .failures = failures_,
          .last_failure = last_failure_.with([](const auto& text) { return text; }),
          .notices = notices_.with([](const auto& texts) { return texts; }),
          .lag = std::chrono::nanoseconds{lag_.load()},
          .state = sink_->state(),
          .delivered = sink_->delivered()};
}

void Listener::note(const Result<>& done) {
  if (done) return;
  ++failures_;
  last_failure_.with([&](auto& text) { text = done.error().what; });
}

void Listener::notice(std::string text) {
  const bool is_new = notices_.with([&](auto& texts) {
    if (texts.size() >= kMaxNotices || std::ranges::find(texts, text) != texts.end()) return false;
    texts.push_back(text);
    return true;
  });
  if (is_new) note(sink_->on_notice(text));
}

void Listener::run(const std::stop_token& stop) {
  note(sink_->open());
  constexpr std::chrono::seconds kTick{1};
  auto ticked = TraceClock::now();
  for (;;) {
    auto due = ticked + kTick;
    if (wants_derived_) due = std::min(due, derived_taken_ + request_.interval);
    auto item = inbox_.pop_for(stop, std::max(due - TraceClock::now(), kLeastWait));
    if (item) {
      if (auto* batch = std::get_if<Batch>(&*item))
        take(*batch);
      else if (auto* text = std::get_if<std::string>(&*item))
        notice(std::move(*text));
      else
        take(std::get<Change>(*item));
    } else if (stop.stop_requested()) {
      break;
    }
    if (wants_derived_ && TraceClock::now() - derived_taken_ >= request_.interval) take_derived();
    if (TraceClock::now() - ticked >= kTick) {
      ticked = TraceClock::now();
      note(sink_->on_tick());
    }
  }
  if (wants_derived_) take_derived();
  note(sink_->close(summary()));
}

void Listener::take(const Change& change) {
  note(sink_->on_source(*change.source, change.change));
  if (change.change == SourceChange::kGone) {
    if (wants_derived_) take_derived();
    derived_.erase(change.source->id);
    series_.forget(change.source->pid);
    std::erase_if(knowledge_,
                  [&](const auto& one) { return one.second.source == change.source->id; });
  }
}

std::uint8_t Listener::use_of(const EventType& type) const {
  if (type.id == nettrace::kManifestEventId) return kLookedAt | kManifest;
  std::uint8_t use = kLookedAt;
  if (wants_derived_ && may_be_derived_from(type.provider)) use |= kDerived;
  const bool counters = type.name == kEventCountersName;
  if (!request_.counters.empty() && (counters || type.provider == kMetricsProvider))
    use |= kCounter;
  if ((use & kCounter) != 0 && may_be_meters_trouble(type)) use |= kTrouble;
  for (const auto& one : request_.providers)
    // Another listener may have made the provider tell its counters.
    if (matches(one, type) && (!counters || !one.arguments.empty())) use |= kEvent;
  return use;
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
    if (event.type->index >= known.uses.size()) known.uses.resize(event.type->index + 1);
    auto& use = known.uses[event.type->index];
    if (use == 0) use = use_of(*event.type);
    if ((use & kManifest) != 0) known.manifests.add(event.type->provider, event.payload);
    if ((use & kCounter) != 0) {
      if (auto value = known.counters.decode(event, known.plans.of(event))) {
        if (!wanted(request_.counters, *value)) continue;
        value->time = block.wall_of(event);
        value->pid = block.source().pid;
        if (!admits(*value)) continue;
        value->process = block.source().process;
        for (auto& done : aggregate_.add(std::move(*value))) values.push_back(std::move(done));
        continue;
      }
    }
    if ((use & kTrouble) != 0)
      if (const auto why = meters_trouble(event, known.plans.of(event), request_.limits))
        notice(fmt::format("{} ({}): {}", block.source().process, block.source().pid, *why));
    if ((use & kDerived) != 0) {
      known.known.resize(known.uses.size());
      auto& kind = known.known[event.type->index];
      if (kind == nettrace::Known::kNone) kind = nettrace::known_event(*event.type);
      derived_
          .try_emplace(block.source().id,
                       Derived{block.source(), DerivedMetrics{block.pointer_size()}})
          .first->second.metrics.on_event(event, kind);
    }
    if ((use & kEvent) != 0 &&
        (request_.where.empty() || request_.where.passes(event, known.plans.of(event))))
      rows.push_back(row);
  }
  if (!rows.empty()) {
    events_ += rows.size();
    note(sink_->on_batch({batch.block, std::move(rows)}));
  }
  give(std::move(values));
}

bool Listener::admits(const CounterValue& value) {
  if (series_.admits(value)) return true;
  ++left_out_;
  if (!std::exchange(told_left_out_, true))
    notice(fmt::format(
        "{} has too many series (limits: {} per metric, {} per process): the rest is left out",
        value.name, format_count(series_.per_metric()), format_count(series_.per_process())));
  return false;
}

void Listener::give(std::vector<CounterValue> values) {
  if (values.empty()) return;
  counters_ += values.size();
  note(sink_->on_counters(values));
}

// By our own clock, so that silence is reported as 0; and a step of the wall clock does not matter.
void Listener::take_derived() {
  const auto now = TraceClock::now();
  const auto interval = now - std::exchange(derived_taken_, now);
  std::vector<CounterValue> values;
  for (auto& [id, derived] : derived_)
    for (auto& value : derived.metrics.take(interval)) {
      value.time = wall_now();
      value.pid = derived.source.pid;
      value.process = derived.source.process;
      if (wanted(request_.counters, value) && admits(value)) values.push_back(std::move(value));
    }
  give(std::move(values));
}

}  // namespace clrscope::hub
