#include "ops/agent_evidence.h"

#include <fmt/format.h>

#include "base/text.h"

namespace clrscope::ops {
namespace {

constexpr std::size_t kMostPlaces = 50;
constexpr std::uint32_t kSources =
    wire::kSourceExceptions | wire::kSourceContention | wire::kSourceAllocations;

}  // namespace

AgentEvidence::AgentEvidence(pid_t pid) {
  auto opened = AgentListener::open(pid);
  if (!opened) {
    if (opened.error().code == Errc::kBusy)
      note_ = "an agent is loaded, but another clrscope listens to it: its evidence is missing";
    return;
  }
  if (const auto on = (*opened)->switch_to(kSources); on)
    listener_ = *std::move(opened);
  else
    note_ = fmt::format("the agent is loaded, but tells nothing: {}", on.error().what);
}

void AgentEvidence::add_to(doctor::Evidence& evidence) {
  if (!note_.empty()) evidence.notes.push_back(note_);
  if (!listener_) return;
  (void)listener_->switch_to(0);
  auto seen = listener_->seen();
  listener_.reset();
  auto& facts = evidence.agent.emplace();
  facts.callback_time = seen.callback_time;
  if (seen.exceptions) {
    facts.length = seen.exceptions->duration;
    for (auto& type : seen.exceptions->by_type) {
      if (facts.exceptions.size() == kMostPlaces) break;
      facts.exceptions.push_back(
          {.what = std::move(type.type),
           .method = type.caught_in.empty() ? "" : type.caught_in.front().method,
           .count = type.count,
           .caught = type.caught,
           .mean = type.mean_to_catch.value_or(std::chrono::nanoseconds{}),
           .longest = type.longest_to_catch.value_or(std::chrono::nanoseconds{}),
           .stack = std::move(type.stack)});
    }
  }
  if (seen.contention)
    for (auto& site : seen.contention->sites) {
      if (facts.locks.size() == kMostPlaces) break;
      facts.locks.push_back({.what = std::move(site.method),
                             .count = site.count,
                             .longest = site.longest,
                             .owner = site.owners.empty() ? 0 : site.owners.front().os_id,
                             .stack = std::move(site.stack)});
    }
  if (seen.allocations)
    for (auto& type : seen.allocations->types) {
      if (facts.allocations.size() == kMostPlaces) break;
      facts.allocations.push_back({.what = std::move(type.type),
                                   .method = type.sites.empty() ? "" : type.sites.front().method,
                                   .count = type.samples,
                                   .bytes = type.bytes,
                                   .stack = std::move(type.stack)});
    }
  evidence.notes.push_back(
      fmt::format("the agent in the process was listened to; it took {} on threads of the process",
                  format_duration(facts.callback_time)));
}

}  // namespace clrscope::ops
