#include "ops/runtime_sessions.h"

#include <algorithm>
#include <map>
#include <optional>
#include <span>

#include "base/text.h"
#include "model/provider_names.h"

namespace clrscope::ops {
namespace {

using ipc::Level;

// Suspensions and waits for locks tell some waits apart that look alike to the kernel. Where the
// kernel does not tell at all where threads wait, waits for handles do.
constexpr std::uint64_t kSuspensions = 0x1;
constexpr std::uint64_t kHandleWaits = 0x40000000000;
constexpr WhileCheap kLockWaits{"lock waits", 0x4000, Level::kInformational};

constexpr std::uint32_t kSuspensionIds[] = {3, 7, 8, 9};  // begin and end of stop and restart
constexpr std::uint32_t kLockWaitIds[] = {81, 91};

bool wants_any(const ipc::Provider& provider, std::uint64_t keyword,
               std::span<const std::uint32_t> ids) {
  return (provider.keywords & keyword) != 0 && std::ranges::any_of(ids, [&](const auto id) {
           return std::ranges::find(provider.event_ids, id) != provider.event_ids.end();
         });
}

void add_ids(ipc::Provider& provider, std::uint64_t keyword, std::span<const std::uint32_t> ids) {
  provider.keywords |= keyword;
  provider.level = std::max(provider.level, Level::kInformational);
  for (const auto id : ids)
    if (std::ranges::find(provider.event_ids, id) == provider.event_ids.end())
      provider.event_ids.push_back(id);
}

ipc::Provider runtime(std::uint64_t keywords, Level level) {
  return {.name = std::string{kRuntimeProvider}, .keywords = keywords, .level = level};
}

}  // namespace

std::vector<collect::RuntimeEvents> runtime_sessions(const Plan& plan, std::uint32_t buffer_mb,
                                                     bool rundown) {
  // Events of methods have names at the level "verbose" only, where others are far too many.
  std::map<Level, std::uint64_t, std::greater<>> keywords{{Level::kVerbose, plan.selection.names}};
  auto while_cheap = plan.selection.while_cheap;
  std::uint64_t with_stacks = 0;  // names need none, and each costs the program time
  std::vector<ipc::Provider> others;
  std::optional<ipc::Provider> by_id;  // the runtime's, where only some of its events are wanted
  for (const auto& [provider, asked_by] : plan.selection.providers) {
    if (!equal_ignoring_case(provider.name, kRuntimeProvider)) {
      others.push_back(provider);
    } else if (!provider.event_ids.empty()) {
      by_id = provider;
    } else {
      keywords[provider.level] |= provider.keywords;
      if (plan.selection.stacks) with_stacks |= provider.keywords;
    }
  }
  if (plan.rung.waits != WaitRung::kNone) {
    if (by_id)
      add_ids(*by_id, kSuspensions, kSuspensionIds);
    else
      keywords[Level::kInformational] |= kSuspensions;
    if (!by_id || !wants_any(*by_id, kLockWaits.keyword, kLockWaitIds))
      while_cheap.push_back(kLockWaits);
    else
      add_ids(*by_id, kLockWaits.keyword, kLockWaitIds);
  }
  if (plan.rung.waits == WaitRung::kTimes) {
    keywords[Level::kVerbose] |= kHandleWaits;
    with_stacks |= kHandleWaits;
  }

  std::vector<collect::RuntimeEvents> sessions;
  std::uint64_t covered = 0;
  for (const auto& [level, all] : keywords) {
    const auto more = all & ~covered;
    covered |= all;
    if (more == 0) continue;
    sessions.push_back(
        {.session = {.buffer_mb = buffer_mb, .rundown_keyword = 0, .providers = {}}});
    auto& provider = sessions.back().session.providers.emplace_back(runtime(more, level));
    provider.unwanted_ids.assign(plan.selection.unwanted_ids.begin(),
                                 plan.selection.unwanted_ids.end());
    sessions.back().session.stacks = (more & with_stacks) != 0;
  }
  auto& first = sessions.front().session;
  if (rundown) first.rundown_keyword = ipc::kDefaultRundown;
  first.providers.insert(first.providers.end(), others.begin(), others.end());
  first.stacks = first.stacks || !others.empty();
  if (by_id) {
    by_id->keywords &= ~covered;  // those come anyway
    sessions.push_back(
        {.session = {.buffer_mb = buffer_mb, .rundown_keyword = 0, .providers = {}}});
    sessions.back().session.providers.push_back(std::move(*by_id));
  }
  for (const auto& one : while_cheap) {
    if ((one.keyword & covered) != 0) continue;
    covered |= one.keyword;
    auto provider = runtime(one.keyword, one.level);
    provider.event_ids.assign(one.ids.begin(), one.ids.end());
    sessions.push_back({.session = {.buffer_mb = buffer_mb,
                                    .rundown_keyword = 0,
                                    .stacks = one.stacks,
                                    .providers = {std::move(provider)}},
                        .while_cheap = true,
                        .what = std::string{one.what}});
  }
  return sessions;
}

}  // namespace clrscope::ops
