// A sink for plain numbers: counters, and raw events as counts or a field of theirs, go through a
// format and an outbox to a peer. It tells its own losses too, as the metric clrscope.dropped.
//
// Used by graphite.cpp and statsd.cpp.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "net/socket.h"
#include "sinks/event_metrics.h"
#include "sinks/metric.h"
#include "sinks/outbox.h"
#include "sinks/sink_kind.h"

namespace clrscope::sinks {

// Metrics to messages. Belongs to one thread.
class NumberFormat {
 public:
  virtual ~NumberFormat() = default;
  // How many of its points could not be told: too many series, or names too long.
  virtual std::size_t add(const Metric& metric) = 0;
  // What was added since, as messages for the carrier.
  virtual std::vector<Message> take() = 0;
};

// Lines packed into messages of at most so many bytes.
class LinePacker {
 public:
  explicit LinePacker(std::size_t most) : most_(most) {}
  // Without its end. False: it is longer than a message may be.
  bool add(std::string_view line);
  std::vector<Message> take();

 private:
  std::size_t most_;
  std::vector<Message> messages_;
};

struct NumberSinkSetting {
  std::unique_ptr<NumberFormat> format{};
  Names names = Names::kOtel;
  std::string field{};
  std::chrono::nanoseconds interval{};
};

class NumberSink final : public hub::Sink {
 public:
  NumberSink(NumberSinkSetting setting, std::unique_ptr<Outbox> outbox);

  Result<> on_batch(const hub::Batch& batch) override;
  Result<> on_counters(std::span<const hub::CounterValue> values) override;
  Result<> on_dropped(std::uint64_t events) override;
  Result<> on_tick() override;
  Result<> close(const hub::SessionSummary& summary) override;
  std::string state() const override;
  std::optional<std::uint64_t> delivered() const override;

 private:
  void add(const hub::CounterValue& value);
  void tell_events_and_losses(TraceTime now);
  void flush();

  const NumberSinkSetting setting_;
  EventMetrics events_;
  TraceTime told_;  // when events and losses last were
  std::uint64_t dropped_ = 0;
  const std::unique_ptr<Outbox> outbox_;
};

// The sink, with what graphite: and statsd: have in common: names= and field=, the outbox.
Result<std::unique_ptr<hub::Sink>> make_number_sink(const SinkAddress& address,
                                                    const SinkSetting& setting,
                                                    std::unique_ptr<NumberFormat> format,
                                                    std::unique_ptr<Carrier> carrier);
Result<Names> names_of(const SinkAddress& address);
inline constexpr SinkOption kNamesOption{"names", "otel|dotnet",
                                         "naming: OpenTelemetry's, or as published by the program"};
inline constexpr SinkOption kFieldOption{
    "field", "NAME", "send the mean of this field of events, in addition to their count"};
inline constexpr SinkOption kPrefixOption{"prefix", "PATH", "prefix of all names"};
inline constexpr SinkOption kSeriesOption{
    "limit", "N", "maximum number of series; more are dropped and counted (default: 10000)"};

std::string host_name();

}  // namespace clrscope::sinks
