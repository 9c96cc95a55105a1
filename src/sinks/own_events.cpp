#include "sinks/own_events.h"
#include "model/provider_names.h"

#include <fmt/format.h>

#include <cmath>
#include <iterator>
#include <limits>

namespace clrscope::sinks {
namespace {

Field text(std::string name) { return {.name = std::move(name), .type = TypeCode::kUtf16Text}; }
Field real(std::string name) { return {.name = std::move(name), .type = TypeCode::kFloat64}; }
Field short_text(std::string name) {
  return {.name = std::move(name),
          .type = TypeCode::kArray,
          .children = {{.name = {}, .type = TypeCode::kUtf8Unit}}};
}

std::shared_ptr<const EventType> value_type() {
  EventType type{.index = 0, .provider = "Clrscope.Counters", .name = "Value", .id = 1};
  type.level = 4;
  type.fields = {text("Process"), text("Provider"), text("Name"),  text("Unit"),
                 text("Tags"),    text("Kind"),     real("Value"), real("Total")};
  type.fields.push_back({.name = "Count", .type = TypeCode::kUInt64});
  for (const auto* name : {"Sum", "Min", "Max", "IntervalMs"}) type.fields.push_back(real(name));
  type.fields.push_back(text("Quantiles"));
  type.fields.push_back(text("Buckets"));
  return std::make_shared<const EventType>(std::move(type));
}

std::shared_ptr<const EventType> process_type() {
  EventType type{.index = 1,
                 .provider = std::string{kUniversalSystemProvider},
                 .name = "ExistingProcess",
                 .id = 0};
  type.level = 4;
  type.fields = {{.name = "NamespaceId", .type = TypeCode::kVarUInt},
                 short_text("Name"),
                 short_text("NamespaceName")};
  return std::make_shared<const EventType>(std::move(type));
}

std::shared_ptr<hub::Block> block_of(const std::shared_ptr<const EventType>& type,
                                     std::chrono::nanoseconds wall_offset) {
  static const auto kNobody = std::make_shared<const hub::SourceInfo>();
  return std::make_shared<hub::Block>(kNobody, type, kOwnReader, wall_offset, 8);
}

void put_text(ByteWriter& out, std::string_view utf8) {
  for (const char16_t unit : utf16_of(utf8))
    if (unit != 0) out.write(unit);
  out.write(char16_t{0});
}

void put_short_text(ByteWriter& out, std::string_view utf8) {
  utf8 = utf8.substr(0, 0xffff);
  out.write(static_cast<std::uint16_t>(utf8.size()));
  out.put(utf8);
}

// "0.5=12.5,0.95=40"; what has no number is inf.
template <class Pairs, class Left, class Right>
std::string list_of(const Pairs& pairs, Left left, Right right) {
  std::string list;
  for (const auto& one : pairs)
    fmt::format_to(std::back_inserter(list), "{}{:g}={:g}", list.empty() ? "" : ",", one.*left,
                   static_cast<double>(one.*right));
  return list;
}

void put_value(ByteWriter& out, const hub::CounterValue& value) {
  constexpr auto kUnknown = std::numeric_limits<double>::quiet_NaN();
  put_text(out, value.process);
  put_text(out, value.provider);
  put_text(out, value.name);
  put_text(out, value.unit);
  put_text(out, value.tags_text());
  put_text(out, name_of(value.kind));
  out.write(hub::shown_value(value));
  out.write(value.total.value_or(kUnknown));
  out.write(value.count);
  out.write(value.sum.value_or(kUnknown));
  out.write(value.min.value_or(kUnknown));
  out.write(value.max.value_or(kUnknown));
  out.write(std::chrono::duration<double, std::milli>(value.interval).count());
  put_text(out, quantiles_text(value));
  put_text(out, list_of(value.buckets, &hub::Bucket::upper, &hub::Bucket::count));
}

hub::Batch batch_of(std::shared_ptr<hub::Block> block) {
  hub::Batch batch{.block = std::move(block), .rows = {}};
  batch.rows.resize(batch.block->events().size());
  for (std::uint32_t i = 0; i < batch.rows.size(); ++i) batch.rows[i] = i;
  return batch;
}

Event event_at(TraceTime time, const EventType& type, pid_t pid, Bytes payload) {
  return {.type = &type,
          .time = time,
          .ticks = time.time_since_epoch().count(),
          .payload = payload,
          .process = ProcessId{pid}};
}

}  // namespace

hub::Batch events_of(std::span<const hub::CounterValue> values,
                     std::chrono::nanoseconds wall_offset) {
  static const auto kType = value_type();
  const auto block = block_of(kType, wall_offset);
  ByteWriter payload;
  for (const auto& value : values) {
    payload.clear();
    put_value(payload, value);
    const TraceTime time{value.time.time_since_epoch() - wall_offset};
    block->add(event_at(time, *kType, value.pid, payload.bytes()), {});
  }
  return batch_of(block);
}

hub::Batch event_of(const hub::SourceInfo& source, TraceTime time,
                    std::chrono::nanoseconds wall_offset) {
  static const auto kType = process_type();
  const auto block = block_of(kType, wall_offset);
  ByteWriter payload;
  payload.write_varuint(static_cast<std::uint64_t>(source.pid));
  put_short_text(payload, source.process);
  put_short_text(payload, {});
  block->add(event_at(time, *kType, source.pid, payload.bytes()), {});
  return batch_of(block);
}

std::string quantiles_text(const hub::CounterValue& value) {
  using Quantile = std::pair<double, double>;
  return list_of(value.quantiles, &Quantile::first, &Quantile::second);
}

ProcessId process_of(const hub::Block& block, const Event& event) {
  return block.reader() == kOwnReader ? event.process : ProcessId{block.source().pid};
}

std::chrono::nanoseconds wall_offset_now() {
  return wall_now().time_since_epoch() - TraceClock::now().time_since_epoch();
}

}  // namespace clrscope::sinks
