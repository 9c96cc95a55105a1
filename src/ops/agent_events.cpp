// Contention and allocations, from the runtime's own events with the stacks that the agent takes.
#include <algorithm>
#include <cmath>

#include "ops/agent_listen.h"

namespace clrscope::ops {
namespace {

using std::chrono::nanoseconds;

constexpr std::size_t kMostSites = 50'000;
constexpr double kSamplingMean = 100 * 1024;  // bytes between two allocation samples of .NET 10

using Stack = std::vector<std::uint32_t>;

template <class Fixed>
Stack stack_of(const Fixed* record) {
  return {wire::frames_of(record), wire::frames_of(record) + record->frames};
}

std::vector<std::string> names_of(const collect::AgentArena& arena, const Stack& stack) {
  std::vector<std::string> names;
  for (const auto frame : stack) names.push_back(name_or_unknown(arena, frame));
  return names;
}

// The code that wanted the lock, not the code of the lock.
std::string site_of(const std::vector<std::string>& names) {
  for (const auto& name : names)
    if (!name.starts_with("System.Threading.")) return name;
  return names.empty() ? "unknown" : names.front();
}

// A sampled object stands for all that were not chosen: large ones are chosen more often.
double bytes_of(const wire::Allocation& sample) {
  if (sample.represents != 0) return static_cast<double>(sample.represents);
  const auto size = static_cast<double>(sample.size);
  return size > 0 ? size / -std::expm1(-size / kSamplingMean) : 0;
}

struct Waits {
  std::uint64_t count = 0;
  std::uint64_t total_ns = 0;
  std::uint64_t longest_ns = 0;
};
struct Allocated {
  std::uint64_t samples = 0;
  double bytes = 0;
};

nanoseconds as_duration(std::uint64_t ns) {
  return nanoseconds{static_cast<std::int64_t>(std::min<std::uint64_t>(ns, INT64_MAX))};
}

}  // namespace

Result<AgentContention> agent_contention(const ListenRequest& request) {
  std::map<Stack, Waits> stacks;
  AgentContention out;
  const auto take = [&](const void* bytes, std::uint32_t size) {
    const auto* record =
        wire::parse_record<wire::Contention>(wire::RecordKind::kContention, bytes, size);
    if (!record || stacks.size() >= kMostSites) return;
    ++out.recorded;
    auto& waits = stacks[stack_of(record)];
    ++waits.count;
    waits.total_ns += record->wait_ns;
    waits.longest_ns = std::max(waits.longest_ns, record->wait_ns);
    out.waited += as_duration(record->wait_ns);
  };
  const auto finish = [&](const collect::AgentArena& arena, Heard heard) {
    out.pid = heard.pid;
    out.duration = heard.duration;
    out.dropped = std::move(heard.dropped);
    out.callback_time = heard.callback_time;
    out.contentions = arena.contentions();
    std::map<std::string, ContentionSite> sites;
    std::map<std::string, std::uint64_t> largest;
    for (const auto& [stack, waits] : stacks) {
      auto names = names_of(arena, stack);
      const auto method = site_of(names);
      auto& site = sites[method];
      site.method = method;
      site.count += waits.count;
      site.waited += as_duration(waits.total_ns);
      site.longest = std::max(site.longest, as_duration(waits.longest_ns));
      if (auto& most = largest[method]; waits.total_ns > most || site.stack.empty()) {
        most = waits.total_ns;
        site.stack = std::move(names);
      }
    }
    for (auto& [method, site] : sites) out.sites.push_back(std::move(site));
    std::ranges::sort(out.sites, std::greater{}, &ContentionSite::waited);
  };
  TRY(listen_to_agent(request, wire::kSourceContention, take, finish));
  return out;
}

Result<AgentAllocations> agent_allocations(const ListenRequest& request) {
  std::map<std::uint32_t, std::map<Stack, Allocated>> types;
  std::size_t stacks = 0;
  AgentAllocations out;
  const auto take = [&](const void* bytes, std::uint32_t size) {
    const auto* record =
        wire::parse_record<wire::Allocation>(wire::RecordKind::kAllocation, bytes, size);
    if (!record) return;
    auto& of_type = types[record->type];
    if (stacks >= kMostSites) return;
    const auto [found, is_new] = of_type.try_emplace(stack_of(record));
    if (is_new) ++stacks;
    ++found->second.samples;
    found->second.bytes += bytes_of(*record);
  };
  const auto finish = [&](const collect::AgentArena& arena, Heard heard) {
    out.pid = heard.pid;
    out.duration = heard.duration;
    out.dropped = std::move(heard.dropped);
    out.callback_time = heard.callback_time;
    out.samples = arena.allocations();
    double all = 0;
    for (const auto& [slot, of_type] : types) {
      AllocatedType type{.type = name_or_unknown(arena, slot)};
      double bytes = 0, most = -1;
      std::map<std::string, double> sites;
      for (const auto& [stack, allocated] : of_type) {
        const auto names = names_of(arena, stack);
        type.samples += allocated.samples;
        bytes += allocated.bytes;
        sites[names.empty() ? "unknown" : names.front()] += allocated.bytes;
        if (allocated.bytes > most) {
          most = allocated.bytes;
          type.stack = names;
        }
      }
      type.bytes = static_cast<std::uint64_t>(bytes);
      all += bytes;
      for (const auto& [method, amount] : sites)
        type.sites.push_back({method, static_cast<std::uint64_t>(amount)});
      std::ranges::sort(type.sites, std::greater{}, &AllocationSite::bytes);
      out.types.push_back(std::move(type));
    }
    out.bytes = static_cast<std::uint64_t>(all);
    std::ranges::sort(out.types, std::greater{}, &AllocatedType::bytes);
  };
  TRY(listen_to_agent(request, wire::kSourceAllocations, take, finish));
  return out;
}

}  // namespace clrscope::ops
