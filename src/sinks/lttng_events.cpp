#include "sinks/lttng_events.h"

#include <algorithm>

#include "nettrace/event_json.h"
#include "nettrace/payload_print.h"
#include "nettrace/payload_text.h"
#include "sinks/own_events.h"

namespace clrscope::sinks {
namespace {

using nettrace::PayloadField;
using nettrace::PayloadPlan;
using nettrace::Value;

constexpr std::uint32_t kNoSlot = 0xffffffff;

// The place of a text that ends in a zero, and has none before.
template <class Append>
std::size_t add_text(std::string& scratch, Append&& append) {
  const auto begin = scratch.size();
  append(scratch);
  scratch.erase(
      std::remove(scratch.begin() + static_cast<std::ptrdiff_t>(begin), scratch.end(), '\0'),
      scratch.end());
  scratch += '\0';
  return begin;
}

void append_value_text(std::string& out, const PayloadPlan& plan, const PayloadField& field,
                       const Value& value) {
  if (value.kind == Value::Kind::kText8)
    out += as_text(value.bytes);
  else if (value.kind == Value::Kind::kText16)
    append_utf8(out, value.bytes);
  else
    nettrace::append_text(out, plan, field, value);
}

}  // namespace

LttngEvents::LttngEvents(const clrscope_lttng_module& module, Typed typed)
    : module_(module), typed_(typed) {
  for (std::uint32_t i = 0; i < module.kind_count; ++i)
    kinds_.emplace(std::pair{std::string_view{module.kinds[i].provider}, module.kinds[i].id},
                   &module.kinds[i]);
}

void LttngEvents::send(const hub::Batch& batch) {
  const auto& block = *batch.block;
  auto& reader =
      readers_.try_emplace(block.reader(), block.source().id, block.pointer_size()).first->second;
  for (const auto row : batch.rows) {
    const auto& event = block.events()[row];
    const auto& plan = reader.plans.of(event);
    const auto& route = route_of(reader, *event.type, plan);
    if ((route.kind != nullptr ? route.kind->wanted() : module_.event_wanted()) == 0) {
      ++unwanted_;
      continue;
    }
    const auto& common = common_of(block, row);
    if (route.kind != nullptr)
      send_typed(route, plan, event.payload, common);
    else
      send_json(route, *event.type, plan, event.payload, common);
    ++sent_;
  }
}

LttngEvents::Route& LttngEvents::route_of(Reader& reader, const EventType& type,
                                          const PayloadPlan& plan) {
  if (type.index >= reader.routes.size()) reader.routes.resize(type.index + std::size_t{1});
  auto& route = reader.routes[type.index];
  if (route.known && route.schema == plan.schema()) return route;
  route = {.schema = plan.schema(), .known = true, .name = nettrace::event_name(type, plan)};
  const auto at = kinds_.find({type.provider, type.id});
  if (typed_ == Typed::kNo || at == kinds_.end()) return route;
  route.kind = at->second;
  for (const auto& field : plan.fields()) {
    auto slot = kNoSlot;
    for (std::uint32_t i = 0; i < route.kind->field_count; ++i)
      if (field.name == route.kind->fields[i].name) slot = i;
    route.slots.push_back(slot);
  }
  return route;
}

const clrscope_lttng_common& LttngEvents::common_of(const hub::Block& block, std::uint32_t row) {
  const auto& event = block.events()[row];
  activity_ = event.activity != nullptr ? to_string(*event.activity) : std::string{};
  block.stack(row).copy_to(stack_);
  common_ = {.time = static_cast<std::uint64_t>(block.wall_of(event).time_since_epoch().count()),
             .pid = static_cast<std::int32_t>(process_of(block, event)),
             .tid = static_cast<std::uint64_t>(event.thread),
             .activity = activity_.c_str(),
             .stack = stack_.data(),
             .stack_length = static_cast<std::uint32_t>(stack_.size())};
  return common_;
}

void LttngEvents::send_typed(const Route& route, const PayloadPlan& plan, Bytes payload,
                             const clrscope_lttng_common& common) {
  const auto& kind = *route.kind;
  values_.assign(kind.field_count + std::size_t{1}, {});
  for (std::uint32_t i = 0; i < kind.field_count; ++i)
    if (kind.fields[i].type == CLRSCOPE_LTTNG_TEXT) values_[i].text = "";
  texts_.clear();
  scratch_.clear();
  std::size_t at = 0;
  // What a cut payload lacks stays empty.
  (void)nettrace::for_each_field(plan, payload, [&](const PayloadField& field, const Value& value) {
    const auto slot = route.slots[at++];
    if (slot == kNoSlot) return;
    const bool real = value.kind == Value::Kind::kFloat || value.kind == Value::Kind::kDouble;
    switch (kind.fields[slot].type) {
      case CLRSCOPE_LTTNG_INTEGER:
        values_[slot].u = real ? static_cast<std::uint64_t>(value.f) : value.u;
        break;
      case CLRSCOPE_LTTNG_REAL:
        values_[slot].f = real ? value.f : static_cast<double>(value.i);
        break;
      case CLRSCOPE_LTTNG_TEXT:
        texts_.emplace_back(slot, add_text(scratch_, [&](std::string& out) {
                              append_value_text(out, plan, field, value);
                            }));
        break;
    }
  });
  for (const auto& [slot, place] : texts_) values_[slot].text = scratch_.data() + place;
  kind.emit(&common, values_.data());
}

void LttngEvents::send_json(const Route& route, const EventType& type, const PayloadPlan& plan,
                            Bytes payload, const clrscope_lttng_common& common) {
  scratch_.clear();
  if (plan.schema() != nettrace::Schema::kUnknown || payload.empty()) {
    nettrace::append_json(scratch_, plan, payload);
  } else {
    scratch_ += "{\"payloadHex\":\"";
    nettrace::append_hex(scratch_, payload);
    scratch_ += "\"}";
  }
  const clrscope_lttng_event event{.provider = type.provider.c_str(),
                                   .name = route.name.c_str(),
                                   .id = type.id,
                                   .payload = scratch_.c_str()};
  module_.event(&common, &event);
}

void LttngEvents::send(const hub::CounterValue& value) {
  if (module_.counter_wanted() == 0) {
    ++unwanted_;
    return;
  }
  const auto tags = value.tags_text();
  const auto quantiles = quantiles_text(value);
  const std::string kind{name_of(value.kind)};
  const clrscope_lttng_counter counter{.process = value.process.c_str(),
                                       .provider = value.provider.c_str(),
                                       .name = value.name.c_str(),
                                       .unit = value.unit.c_str(),
                                       .tags = tags.c_str(),
                                       .kind = kind.c_str(),
                                       .value = hub::shown_value(value),
                                       .count = value.count,
                                       .quantiles = quantiles.c_str()};
  common_ = {.time = static_cast<std::uint64_t>(value.time.time_since_epoch().count()),
             .pid = value.pid,
             .tid = 0,
             .activity = "",
             .stack = nullptr,
             .stack_length = 0};
  module_.counter(&common_, &counter);
  ++sent_;
}

void LttngEvents::send_change(const hub::SourceInfo& source, hub::SourceChange change) {
  const bool came = change == hub::SourceChange::kCame;
  module_.process(source.pid, source.process.c_str(), source.runtime.c_str(),
                  came ? "came" : "gone");
  if (!came)
    std::erase_if(readers_, [&](const auto& one) { return one.second.source == source.id; });
}

}  // namespace clrscope::sinks
