#include "collect/eventpipe/stopping_event.h"

#include <algorithm>

#include "base/text.h"
#include "nettrace/payload_text.h"

namespace clrscope::collect {

Result<std::vector<std::pair<std::string, std::string>>> parse_payload_filter(
    std::string_view text) {
  std::vector<std::pair<std::string, std::string>> fields;
  for (const auto part : split(text, ',')) {
    const auto colon = part.find(':');
    if (colon == std::string_view::npos || trim(part.substr(0, colon)).empty())
      return fail(Errc::kUsage, "invalid payload filter '{}'", text)
          .hint("field:value,field:value");
    fields.emplace_back(trim(part.substr(0, colon)), trim(part.substr(colon + 1)));
  }
  return fields;
}

bool StoppingEvent::found_in(const nettrace::Batch& batch, const nettrace::Reader& reader) {
  const auto pointer_size = reader.info() ? reader.info()->pointer_size : 8;
  return std::ranges::any_of(batch.events,
                             [&](const Event& event) { return is(event, pointer_size); });
}

bool StoppingEvent::is(const Event& event, std::uint32_t pointer_size) {
  if (!plans_) plans_.emplace(pointer_size);
  if (event.type->index >= types_.size()) types_.resize(event.type->index + 1);
  auto& matches = types_[event.type->index];
  if (!matches) matches = type_matches(*event.type);
  return *matches && fields_match(event);
}

bool StoppingEvent::type_matches(const EventType& type) {
  if (!equal_ignoring_case(type.provider, request_.provider)) return false;
  if (!request_.event) return true;
  const auto& plan = plans_->of(type);
  const auto is = [&](std::string_view name) {
    return !name.empty() && equal_ignoring_case(name, *request_.event);
  };
  return is(type.name) || is(plan.event_name()) || (plan.table() && is(plan.table()->symbol));
}

bool StoppingEvent::fields_match(const Event& event) {
  const auto& plan = plans_->of(event);
  for (const auto& [name, wanted] : request_.fields) {
    const auto index = plan.find(name);
    const auto value = index ? nettrace::read_field(plan, *index, event.payload) : std::nullopt;
    if (!value) return false;
    std::string text;
    nettrace::append_text(text, plan, plan.fields()[*index], *value);
    if (text != wanted) return false;
  }
  return true;
}

}  // namespace clrscope::collect
