#include "sinks/number_sink.h"

#include <fmt/format.h>
#include <unistd.h>

#include <array>

#include "base/clock.h"

namespace clrscope::sinks {
namespace {

// What waits when clrscope ends has so long to be delivered; a spool keeps the rest.
constexpr std::chrono::seconds kLastPatience{3};

}  // namespace

bool LinePacker::add(std::string_view line) {
  if (line.size() + 1 > most_) return false;
  if (messages_.empty() || messages_.back().text.size() + line.size() + 1 > most_)
    messages_.emplace_back();
  auto& message = messages_.back();
  message.text += line;
  message.text += '\n';
  ++message.items;
  return true;
}

std::vector<Message> LinePacker::take() { return std::exchange(messages_, {}); }

NumberSink::NumberSink(NumberSinkSetting setting, std::unique_ptr<Outbox> outbox)
    : setting_(std::move(setting)),
      events_(setting_.field),
      told_(TraceClock::now()),
      outbox_(std::move(outbox)) {}

Result<> NumberSink::on_batch(const hub::Batch& batch) {
  events_.add(batch);
  return {};
}

void NumberSink::add(const hub::CounterValue& value) {
  dropped_ += setting_.format->add(metric_of(value, setting_.names));
}

void NumberSink::flush() {
  for (auto& message : setting_.format->take())
    outbox_->put(std::move(message.text), message.items);
}

Result<> NumberSink::on_counters(std::span<const hub::CounterValue> values) {
  for (const auto& value : values) add(value);
  flush();
  return {};
}

Result<> NumberSink::on_dropped(std::uint64_t events) {
  dropped_ += events;
  return {};
}

void NumberSink::tell_events_and_losses(TraceTime now) {
  const auto wall = wall_now();
  for (const auto& value : events_.take(wall, now - std::exchange(told_, now))) add(value);
  const auto state = outbox_->state();
  setting_.format->add(
      {.time = wall,
       .name = "clrscope.dropped",
       .points = {{"", static_cast<double>(dropped_ + state.dropped + state.damaged)}},
       .own = true});
}

Result<> NumberSink::on_tick() {
  const auto now = TraceClock::now();
  // A tick comes every second or a little later: the one nearest to the interval counts.
  if (now - told_ + std::chrono::milliseconds{500} >= setting_.interval) {
    tell_events_and_losses(now);
    flush();
  }
  return outbox_->trouble();
}

Result<> NumberSink::close(const hub::SessionSummary&) {
  tell_events_and_losses(TraceClock::now());
  flush();
  outbox_->finish(kLastPatience);
  return outbox_->trouble();
}

std::string NumberSink::state() const { return outbox_->state().text(); }

std::optional<std::uint64_t> NumberSink::delivered() const { return outbox_->state().reached; }

Result<Names> names_of(const SinkAddress& address) {
  constexpr std::array<std::string_view, 2> kNames{"otel", "dotnet"};
  const auto names = TRY(address.one_of("names", "otel", kNames));
  return names == "otel" ? Names::kOtel : Names::kDotnet;
}

Result<std::unique_ptr<hub::Sink>> make_number_sink(const SinkAddress& address,
                                                    const SinkSetting& setting,
                                                    std::unique_ptr<NumberFormat> format,
                                                    std::unique_ptr<Carrier> carrier) {
  OutboxSetting waits{.name = address.identity, .spool = setting.spool};
  if (!setting.spool.empty()) waits.limit = setting.spool_limit;
  const auto names = TRY(names_of(address));
  auto outbox = TRY(Outbox::open(std::move(waits), std::move(carrier)));
  return std::make_unique<NumberSink>(
      NumberSinkSetting{.format = std::move(format),
                        .names = names,
                        .field = address.option("field").value_or(""),
                        .interval = setting.interval},
      std::move(outbox));
}

std::string host_name() {
  std::array<char, 256> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "localhost";
}

}  // namespace clrscope::sinks
