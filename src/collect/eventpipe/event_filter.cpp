#include "collect/eventpipe/event_filter.h"

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "model/provider_names.h"

namespace clrscope::collect {
namespace {

// On Linux the GC looks at its beginning whether one event of each kind is enabled, and writes none
// of that kind when it is not. The event `gate` must therefore be asked for with the others.
struct Gate {
  std::uint32_t gate;
  std::vector<std::uint32_t> others;
};
const Gate kGates[] = {
    {1, {2, 4, 5, 6, 10, 33, 35, 39, 200, 201, 202, 203, 204, 205, 206, 207, 208, 209}},
    {203, {10, 33, 209}},
    {30, {31}},
    {23, {21, 22}},
};

bool has(const std::vector<std::uint32_t>& ids, std::uint32_t id) {
  return std::ranges::find(ids, id) != ids.end();
}

// Whether the runtime has to be asked for more than is wanted.
bool widen(ipc::Provider& provider) {
  const auto wanted = provider.event_ids;
  if (wanted.empty()) return false;
  // Gates of its own, for little.
  if (equal_ignoring_case(provider.name, kPrivateProvider)) provider.event_ids.clear();
  if (equal_ignoring_case(provider.name, kRuntimeProvider))
    for (const auto& [gate, others] : kGates)
      if (!has(wanted, gate) &&
          std::ranges::any_of(others, [&](const auto id) { return has(wanted, id); }))
        provider.event_ids.push_back(gate);
  return provider.event_ids != wanted;
}

}  // namespace

EventFilter::EventFilter(const std::vector<ipc::Provider>& providers) {
  for (const auto& one : providers)
    if (!one.event_ids.empty()) filtered_.push_back(one);
}

bool EventFilter::keeps(const EventType& type) {
  if (filtered_.empty()) return true;
  if (type.index >= known_.size()) known_.resize(type.index + 1);
  auto& known = known_[type.index];
  if (known == Known::kNot) {
    known = Known::kKept;
    for (const auto& one : filtered_)
      if (equal_ignoring_case(one.name, type.provider) && !has(one.event_ids, type.id))
        known = Known::kLeftOut;
  }
  return known == Known::kKept;
}

Result<FilteredSession> start_filtered(ipc::Endpoint& runtime, ipc::SessionConfig config,
                                       std::chrono::nanoseconds patience) {
  EventFilter filter{config.providers};
  bool asks_for_more = false;
  for (auto& provider : config.providers) asks_for_more |= widen(provider);
  auto session = ipc::start_tracing(runtime, config, patience);
  if (session)
    return FilteredSession{std::move(*session), asks_for_more ? std::move(filter) : EventFilter{}};
  for (auto& provider : config.providers) provider.event_ids.clear();
  if (!filter.empty() && session.error().code == Errc::kUnsupported)
    session = ipc::start_tracing(runtime, config, patience);
  if (!session && !config.stacks && session.error().code == Errc::kUnsupported) {
    config.stacks = true;  // before .NET 9 they cannot be left out
    session = ipc::start_tracing(runtime, config, patience);
  }
  return FilteredSession{TRY(std::move(session)), std::move(filter)};
}

}  // namespace clrscope::collect
