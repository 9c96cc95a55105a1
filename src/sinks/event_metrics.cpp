#include "sinks/event_metrics.h"

#include <algorithm>
#include <cmath>

#include "nettrace/event_json.h"

namespace clrscope::sinks {
namespace {

using nettrace::Value;

constexpr std::size_t kMostKinds = 1000;
constexpr unsigned kLongIdle = 60;  // a reader that is silent so long is forgotten

std::optional<double> number_of(const Value& value) {
  switch (value.kind) {
    case Value::Kind::kInt:
      return static_cast<double>(value.i);
    case Value::Kind::kUInt:
    case Value::Kind::kBool:
      return static_cast<double>(value.u);
    case Value::Kind::kFloat:
    case Value::Kind::kDouble:
      return std::isfinite(value.f) ? std::optional{value.f} : std::nullopt;
    default:
      return {};
  }
}

}  // namespace

void EventMetrics::Tally::measure(double value) {
  min = measured == 0 ? value : std::min(min, value);
  max = measured == 0 ? value : std::max(max, value);
  sum += value;
  ++measured;
}

void EventMetrics::Tally::add(const Tally& other) {
  if (other.measured > 0) {
    min = measured == 0 ? other.min : std::min(min, other.min);
    max = measured == 0 ? other.max : std::max(max, other.max);
  }
  sum += other.sum;
  measured += other.measured;
  count += other.count;
}

EventMetrics::Reader::Reader(const hub::Block& block)
    : pid(block.source().pid), process(block.source().process), plans(block.pointer_size()) {}

EventMetrics::Kind& EventMetrics::kind_of(Reader& reader, const EventType& type) {
  if (type.index >= reader.kinds.size()) reader.kinds.resize(type.index + 1);
  auto& kind = reader.kinds[type.index];
  if (!kind) {
    const auto& plan = reader.plans.of(type);
    kind = Kind{.provider = type.provider, .name = nettrace::event_name(type, plan)};
    if (!field_.empty()) kind->field = plan.find(field_);
  }
  return *kind;
}

void EventMetrics::add(const hub::Batch& batch) {
  const auto& block = *batch.block;
  auto& reader = readers_.try_emplace(block.reader(), block).first->second;
  reader.idle = 0;
  for (const auto row : batch.rows) {
    const auto& event = block.events()[row];
    auto& kind = kind_of(reader, *event.type);
    ++kind.tally.count;
    if (!kind.field) continue;
    const auto value = read_field(reader.plans.of(event), *kind.field, event.payload);
    if (!value) continue;
    if (const auto number = number_of(*value)) kind.tally.measure(*number);
  }
}

hub::CounterValue EventMetrics::value_of(const Key& key, WallTime now,
                                         std::chrono::nanoseconds interval) {
  hub::CounterValue value{
      .time = now, .pid = key.pid, .process = key.process, .provider = key.provider};
  value.name = value.display = key.name;
  value.interval = interval;
  return value;
}

std::vector<hub::CounterValue> EventMetrics::take(WallTime now, std::chrono::nanoseconds interval) {
  std::map<Key, Tally> tallies;
  for (auto& [id, reader] : readers_) {
    for (auto& kind : reader.kinds) {
      if (!kind || kind->tally.count == 0) continue;
      Key key{reader.pid, reader.process, kind->provider, kind->name};
      if (tallies.size() >= kMostKinds && !tallies.contains(key))
        key = {reader.pid, reader.process, "clrscope", "other"};
      tallies[std::move(key)].add(std::exchange(kind->tally, {}));
    }
    ++reader.idle;
  }
  std::erase_if(readers_, [](const auto& one) { return one.second.idle > kLongIdle; });

  std::vector<hub::CounterValue> values;
  const auto add_count = [&](const Key& key, std::uint64_t count) {
    auto value = value_of(key, now, interval);
    value.kind = hub::CounterKind::kRate;
    value.unit = "{event}";
    value.value = static_cast<double>(count);
    values.push_back(std::move(value));
  };
  for (const auto& [key, tally] : tallies) {
    add_count(key, tally.count);
    if (tally.measured == 0) continue;
    auto value = value_of(key, now, interval);
    value.name = value.display = key.name + "." + field_;
    value.kind = hub::CounterKind::kMean;
    value.value = tally.sum / static_cast<double>(tally.measured);
    value.count = tally.measured;
    value.sum = tally.sum;
    value.min = tally.min;
    value.max = tally.max;
    values.push_back(std::move(value));
  }
  for (const auto& [key, tally] : told_)
    if (!tallies.contains(key)) add_count(key, 0);
  told_ = std::move(tallies);
  return values;
}

}  // namespace clrscope::sinks
