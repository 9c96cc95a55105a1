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

NumberSink::NumberSink(NumberSinkSetting setting)
    : setting_(std::move(setting)), events_(setting_.field), told_(TraceClock::now()) {}

Result<> NumberSink::open() {
  TRY(outbox());
  return {};
}

// Opened when it is first needed, and tried again when that failed.
Result<std::shared_ptr<Outbox>> NumberSink::outbox() {
  if (auto open = outbox_.with([](const auto& one) { return one; })) return open;
  std::shared_ptr<Outbox> made = TRY(Outbox::open(setting_.outbox, setting_.make_carrier()));
  outbox_.with([&](auto& one) { one = made; });
  return made;
}

Result<> NumberSink::on_batch(const hub::Batch& batch) {
  events_.add(batch);
  return {};
}

void NumberSink::add(const hub::CounterValue& value) {
  dropped_ += setting_.format->add(metric_of(value, setting_.names));
}

void NumberSink::flush(Outbox& outbox) {
  for (auto& message : setting_.format->take()) outbox.put(std::move(message.text), message.items);
}

Result<> NumberSink::on_counters(std::span<const hub::CounterValue> values) {
  for (const auto& value : values) add(value);
  flush(*TRY(outbox()));
  return {};
}

Result<> NumberSink::on_dropped(std::uint64_t events) {
  dropped_ += events;
  return {};
}

void NumberSink::tell_events_and_losses(TraceTime now) {
  const auto wall = wall_now();
  for (const auto& value : events_.take(wall, now - std::exchange(told_, now))) add(value);
  const auto state = outbox_.with([](const auto& one) { return one->state(); });
  setting_.format->add(
      {.time = wall,
       .name = "clrscope.dropped",
       .points = {{"", static_cast<double>(dropped_ + state.dropped + state.damaged)}},
       .own = true});
}

Result<> NumberSink::on_tick() {
  const auto open = TRY(outbox());
  const auto now = TraceClock::now();
  // A tick comes every second or a little later: the one nearest to the interval counts.
  if (now - told_ + std::chrono::milliseconds{500} >= setting_.interval) {
    tell_events_and_losses(now);
    flush(*open);
  }
  return open->trouble();
}

Result<> NumberSink::close(const hub::SessionSummary&) {
  const auto open = TRY(outbox());
  tell_events_and_losses(TraceClock::now());
  flush(*open);
  open->finish(kLastPatience);
  return open->trouble();
}

std::string NumberSink::state() const {
  const auto open = outbox_.with([](const auto& one) { return one; });
  return open ? open->state().text() : std::string{};
}

Result<NumberSinkSetting> number_sink_setting(const SinkAddress& address,
                                              const SinkSetting& setting) {
  constexpr std::array<std::string_view, 2> kNames{"otel", "dotnet"};
  const auto names = TRY(address.one_of("names", "otel", kNames));
  NumberSinkSetting made{.outbox = {.name = address.text, .spool = setting.spool},
                         .names = names == "otel" ? Names::kOtel : Names::kDotnet,
                         .field = address.option("field").value_or(""),
                         .interval = setting.interval};
  if (!setting.spool.empty()) made.outbox.limit = setting.spool_limit;
  TRY(Outbox::check(made.outbox));
  return made;
}

std::string host_name() {
  std::array<char, 256> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "localhost";
}

}  // namespace clrscope::sinks
