#include "hub/session_plan.h"

#include <algorithm>
#include <numeric>
#include <optional>

namespace clrscope::hub {
namespace {

std::optional<std::string> joined_arguments(const ProviderRequest& a, const ProviderRequest& b) {
  if (a.arguments == b.arguments) return a.arguments;
  if (a.arguments.empty() && only_counters(b.arguments)) return b.arguments;
  if (b.arguments.empty() && only_counters(a.arguments)) return a.arguments;
  const auto meters = MetersArguments::parse(a), more = MetersArguments::parse(b);
  if (meters && more && meters->rest == more->rest) return meters->with(*more).text();
  return {};
}

bool wants_only_counters(const ProviderRequest& request) {
  return request.keywords == 0 && request.ids.empty() && only_counters(request.arguments);
}

// One request that asks for both and for nothing else, if there is one.
std::optional<ProviderRequest> joined(const ProviderRequest& a, const ProviderRequest& b) {
  if (covers(a, b)) return a;
  if (covers(b, a)) return b;
  auto arguments = joined_arguments(a, b);
  if (!arguments) return {};
  // Counters come at any level.
  if (a.level != b.level && !wants_only_counters(a) && !wants_only_counters(b)) return {};
  if (a.ids.empty() != b.ids.empty()) return {};
  ProviderRequest both = a;
  both.level = std::max(a.level, b.level);
  both.arguments = std::move(*arguments);
  both.keywords |= b.keywords;
  for (const auto id : b.ids)
    if (std::find(both.ids.begin(), both.ids.end(), id) == both.ids.end()) both.ids.push_back(id);
  std::sort(both.ids.begin(), both.ids.end());
  return both;
}

bool take(PlannedSession& session, const Need& need) {
  if (session.alone != need.alone) return false;
  if (session.serves(need)) return true;
  if (session.request.stacks != need.stacks) return false;
  if (is_configured(need.request) || is_configured(session.request.providers.front())) return false;
  for (auto& has : session.request.providers) {
    if (has.name != need.request.name) continue;
    auto both = joined(has, need.request);
    if (both) has = std::move(*both);
    return both.has_value();
  }
  session.request.providers.push_back(need.request);
  return true;
}

}  // namespace

bool serves(const SourceRequest& session, const ProviderRequest& wants, bool stacks) {
  if (stacks && !session.stacks) return false;
  return std::any_of(session.providers.begin(), session.providers.end(),
                     [&](const auto& has) { return covers(has, wants); });
}

bool PlannedSession::serves(const Need& need) const {
  return alone == need.alone && hub::serves(request, need.request, need.stacks);
}

std::vector<PlannedSession> plan_sessions(std::span<const Need> needs) {
  // The wide ones first: what they cover needs no session of its own. Stable, so that the same
  // needs always give the same plan.
  std::vector<std::size_t> order(needs.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) {
    const auto width = [&](std::size_t i) {
      return std::pair{needs[i].stacks, needs[i].request.level};
    };
    return width(a) > width(b);
  });
  std::vector<PlannedSession> plan;
  for (const auto i : order) {
    auto at =
        std::find_if(plan.begin(), plan.end(), [&](auto& one) { return take(one, needs[i]); });
    if (at == plan.end()) {
      plan.push_back({.request = {.providers = {needs[i].request}, .stacks = needs[i].stacks},
                      .alone = needs[i].alone});
      at = std::prev(plan.end());
    }
    at->needs.push_back(i);
  }
  for (auto& one : plan) {
    std::sort(one.needs.begin(), one.needs.end());
    std::sort(one.request.providers.begin(), one.request.providers.end(),
              [](const auto& a, const auto& b) { return a.name < b.name; });
  }
  return plan;
}

}  // namespace clrscope::hub
