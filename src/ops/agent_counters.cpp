#include "ops/agent_counters.h"

#include <algorithm>
#include <cmath>
#include <set>

namespace clrscope::ops {
namespace {

using std::chrono::nanoseconds;
using Stack = std::vector<std::uint32_t>;

constexpr std::size_t kMostStacks = 100'000;  // kept apart; more are counted without their stack
constexpr std::size_t kMostOpenThrows = 1'000'000;
constexpr std::size_t kMostSites = 50'000;
constexpr std::size_t kMostTypes = 50'000;
constexpr std::size_t kMostOwners = 64;  // of one place
constexpr std::size_t kMostEarly = 20'000;
constexpr double kSamplingMean = 100 * 1024;  // bytes between two allocation samples of .NET 10

template <class Fixed>
Stack stack_of(const Fixed* record) {
  return {wire::frames_of(record), wire::frames_of(record) + record->frames};
}

std::vector<std::string> names_of(const collect::AgentArena& arena, const Stack& stack) {
  std::vector<std::string> names;
  names.reserve(stack.size());
  for (const auto frame : stack) names.push_back(name_or_unknown(arena, frame));
  return names;
}

// The code that wanted the lock, not the code of the lock.
std::string site_of(const std::vector<std::string>& names) {
  for (const auto& name : names)
    if (!name.starts_with("System.Threading.")) return name;
  return names.empty() ? "unknown" : names.front();
}

std::string innermost(const std::vector<std::string>& names) {
  return names.empty() ? "unknown" : names.front();
}

// A sampled object stands for all that were not chosen: large ones are chosen more often.
template <class Sample>
double bytes_of(const Sample& sample) {
  if (sample.represents != 0) return static_cast<double>(sample.represents);
  const auto size = static_cast<double>(sample.size);
  return size > 0 ? size / -std::expm1(-size / kSamplingMean) : 0;
}

nanoseconds as_duration(std::uint64_t ns) {
  return nanoseconds{static_cast<std::int64_t>(std::min<std::uint64_t>(ns, INT64_MAX))};
}

std::uint64_t as_bytes_count(double bytes) {
  constexpr double kMost = 1e18;
  return static_cast<std::uint64_t>(std::clamp(bytes, 0.0, kMost));
}

std::vector<MethodCount> named_counts(const collect::AgentArena& arena,
                                      const std::map<std::uint32_t, std::uint64_t>& counts) {
  std::vector<MethodCount> out;
  for (const auto& [slot, count] : counts) out.push_back({name_or_unknown(arena, slot), count});
  std::ranges::sort(out, [](const auto& a, const auto& b) {
    return std::pair{b.count, a.method} < std::pair{a.count, b.method};
  });
  return out;
}

}  // namespace

std::string name_or_unknown(const collect::AgentArena& arena, std::uint32_t slot) {
  auto name = arena.name(slot);
  return name.empty() ? "unknown" : name;
}

// --- exceptions ---

void ExceptionCounter::take(const void* bytes, std::uint32_t size) {
  using namespace wire;
  if (const auto* thrown = parse_record<ExceptionThrown>(RecordKind::kExceptionThrown, bytes, size))
    take_thrown(*thrown);
  else if (const auto* caught =
               parse_record<ExceptionCaught>(RecordKind::kExceptionCaught, bytes, size))
    take_caught(*caught);
}

void ExceptionCounter::take_thrown(const wire::ExceptionThrown& thrown) {
  ++recorded_;
  if (types_.size() >= kMostTypes && !types_.contains(thrown.type)) return;
  auto& type = types_[thrown.type];
  ++type.count;
  if (thrown.frames > 0) {
    const auto* frames = wire::frames_of(&thrown);
    Stack stack{frames, frames + thrown.frames};
    if (const auto found = type.stacks.find(stack); found != type.stacks.end()) {
      ++found->second;
      ++type.sites[frames[0]];
    } else if (stacks_ < kMostStacks) {
      ++stacks_;
      ++type.sites[frames[0]];
      type.stacks.emplace(std::move(stack), 1);
    }
  }
  if (open_.size() < kMostOpenThrows) open_[thrown.number] = thrown.type;
}

void ExceptionCounter::take_caught(const wire::ExceptionCaught& caught) {
  const auto found = open_.find(caught.number);
  if (found == open_.end()) return;  // its throw was dropped
  auto& type = types_[found->second];
  open_.erase(found);
  ++type.caught;
  type.ticks += caught.ticks;
  type.longest = std::max(type.longest, caught.ticks);
  if (type.catchers.size() < kMostTypes) ++type.catchers[caught.method];
}

void ExceptionCounter::fill(const collect::AgentArena& arena, AgentExceptions& out) const {
  out.exceptions = arena.exceptions();
  out.recorded = recorded_;
  for (const auto& [slot, type] : types_) {
    ThrownType one{.type = name_or_unknown(arena, slot),
                   .count = type.count,
                   .caught = type.caught,
                   .thrown_in = named_counts(arena, type.sites),
                   .caught_in = named_counts(arena, type.catchers)};
    if (type.caught > 0) {
      one.mean_to_catch = arena.duration_of(type.ticks / type.caught);
      one.longest_to_catch = arena.duration_of(type.longest);
    }
    const auto most =
        std::ranges::max_element(type.stacks, {}, [](const auto& stack) { return stack.second; });
    if (most != type.stacks.end()) one.stack = names_of(arena, most->first);
    out.by_type.push_back(std::move(one));
  }
  std::ranges::sort(out.by_type, [](const auto& a, const auto& b) {
    return std::pair{b.count, a.type} < std::pair{a.count, b.type};
  });
}

// --- contention ---

void ContentionCounter::take(const void* bytes, std::uint32_t size) {
  const auto* record =
      wire::parse_record<wire::Contention>(wire::RecordKind::kContention, bytes, size);
  if (!record || stacks_.size() >= kMostSites) return;
  ++recorded_;
  auto& waits = stacks_[stack_of(record)];
  ++waits.count;
  waits.total_ns += record->wait_ns;
  waits.longest_ns = std::max(waits.longest_ns, record->wait_ns);
  waited_ns_ += record->wait_ns;
  if (record->owner != 0 &&
      (waits.owners.size() < kMostOwners || waits.owners.contains(record->owner)))
    ++waits.owners[record->owner];
}

void ContentionCounter::fill(const collect::AgentArena& arena, AgentContention& out) const {
  out.contentions = arena.contentions();
  out.recorded = recorded_;
  out.waited = as_duration(waited_ns_);
  std::map<std::string, ContentionSite> sites;
  std::map<std::string, std::uint64_t> largest;
  std::map<std::string, std::map<std::uint32_t, std::uint64_t>> owners;
  for (const auto& [stack, waits] : stacks_) {
    auto names = names_of(arena, stack);
    const auto method = site_of(names);
    auto& site = sites[method];
    site.method = method;
    site.count += waits.count;
    site.waited += as_duration(waits.total_ns);
    site.longest = std::max(site.longest, as_duration(waits.longest_ns));
    for (const auto& [owner, count] : waits.owners) owners[method][owner] += count;
    if (auto& most = largest[method]; waits.total_ns > most || site.stack.empty()) {
      most = waits.total_ns;
      site.stack = std::move(names);
    }
  }
  for (auto& [method, site] : sites) {
    for (const auto& [owner, count] : owners[method]) site.owners.push_back({owner, count});
    std::ranges::sort(site.owners, std::greater{}, &LockOwner::count);
    if (site.owners.size() > kMostOwners) site.owners.resize(kMostOwners);
    out.sites.push_back(std::move(site));
  }
  std::ranges::sort(out.sites, std::greater{}, &ContentionSite::waited);
}

// --- allocations ---

void AllocationCounter::take(const void* bytes, std::uint32_t size) {
  const auto* record =
      wire::parse_record<wire::Allocation>(wire::RecordKind::kAllocation, bytes, size);
  if (!record || stacks_ >= kMostSites) return;
  ++samples_;
  auto& of_type = types_[record->type];
  const auto [found, is_new] = of_type.try_emplace(stack_of(record));
  if (is_new) ++stacks_;
  ++found->second.samples;
  found->second.bytes += bytes_of(*record);
}

void AllocationCounter::fill(const collect::AgentArena& arena, AgentAllocations& out) const {
  out.samples = std::max(arena.allocations(), samples_);
  double all = 0;
  for (const auto& [slot, of_type] : types_) {
    AllocatedType type{.type = name_or_unknown(arena, slot)};
    double bytes = 0, most = -1;
    std::map<std::string, double> sites;
    for (const auto& [stack, allocated] : of_type) {
      const auto names = names_of(arena, stack);
      type.samples += allocated.samples;
      bytes += allocated.bytes;
      sites[innermost(names)] += allocated.bytes;
      if (allocated.bytes > most) {
        most = allocated.bytes;
        type.stack = names;
      }
    }
    type.bytes = as_bytes_count(bytes);
    all += bytes;
    for (const auto& [method, amount] : sites)
      type.sites.push_back({method, as_bytes_count(amount)});
    std::ranges::sort(type.sites, std::greater{}, &AllocationSite::bytes);
    out.types.push_back(std::move(type));
  }
  out.bytes = as_bytes_count(all);
  std::ranges::sort(out.types, std::greater{}, &AllocatedType::bytes);
}

// --- survivors ---

void SurvivorCounter::take(const void* bytes, std::uint32_t size) {
  using namespace wire;
  if (const auto* object = parse_record<SampledObject>(RecordKind::kSampledObject, bytes, size))
    take_sampled(*object);
  else if (const auto* seen = parse_record<ObjectsSeen>(RecordKind::kObjectsSeen, bytes, size))
    take_seen(*seen);
}

void SurvivorCounter::take_sampled(const wire::SampledObject& object) {
  if (places_.size() >= kMostSites || open_.size() >= kMostSites) return;
  ++samples_;
  auto& place = places_[{object.type, stack_of(&object)}];
  const auto bytes = bytes_of(object);
  ++place.samples;
  place.bytes += bytes;
  open_[object.number] = {&place, bytes};
}

void SurvivorCounter::take_seen(const wire::ObjectsSeen& seen) {
  collections_ = std::max(collections_, seen.collection);
  const auto settle = [&](std::uint32_t number, wire::Fate fate) {
    const auto found = open_.find(number);
    if (found == open_.end()) return false;
    auto& [place, bytes] = found->second;
    switch (fate) {
      case wire::Fate::kSurvivedOne:
        place->one += bytes;
        return true;  // it is followed further
      case wire::Fate::kSurvivedTwo:
        place->two += bytes;
        break;
      case wire::Fate::kDied:
        place->died += bytes;
        break;
      default:
        place->lost += bytes;
    }
    open_.erase(found);
    return true;
  };
  std::erase_if(early_, [&](const auto& one) { return settle(one.first, one.second); });
  for (std::uint32_t i = 0; i < seen.frames; ++i) {
    const auto number = wire::frames_of(&seen)[i];
    if (!settle(number, seen.fate) && early_.size() < kMostEarly)
      early_.emplace_back(number, seen.fate);
  }
}

void SurvivorCounter::fill(const collect::AgentArena& arena, AgentSurvivors& out) const {
  out.samples = samples_;
  out.collections = collections_;
  std::map<std::pair<std::string, std::string>, std::pair<Place, double>> rows;
  std::map<std::pair<std::string, std::string>, std::vector<std::string>> stacks;
  for (const auto& [key, place] : places_) {
    auto names = names_of(arena, key.second);
    const std::pair row{name_or_unknown(arena, key.first), innermost(names)};
    auto& [sum, most] = rows[row];
    sum.samples += place.samples;
    sum.bytes += place.bytes;
    sum.died += place.died;
    sum.one += place.one;
    sum.two += place.two;
    sum.lost += place.lost;
    if (place.bytes > most) {
      most = place.bytes;
      stacks[row] = std::move(names);
    }
  }
  double bytes = 0, one = 0, two = 0;
  for (const auto& [row, value] : rows) {
    const auto& place = value.first;
    bytes += place.bytes;
    one += place.one;
    two += place.two;
    out.places.push_back({.type = row.first,
                          .method = row.second,
                          .samples = place.samples,
                          .bytes = as_bytes_count(place.bytes),
                          .survived_one = as_bytes_count(place.one),
                          .survived_two = as_bytes_count(place.two),
                          .died = as_bytes_count(place.died),
                          .stack = stacks[row]});
  }
  out.bytes = as_bytes_count(bytes);
  out.survived_one = as_bytes_count(one);
  out.survived_two = as_bytes_count(two);
  std::ranges::sort(out.places, [](const auto& a, const auto& b) {
    return std::tuple{b.survived_two, b.survived_one, b.bytes, a.type} <
           std::tuple{a.survived_two, a.survived_one, a.bytes, b.type};
  });
}

void AgentCounters::take(const void* bytes, std::uint32_t size) {
  exceptions.take(bytes, size);
  contention.take(bytes, size);
  allocations.take(bytes, size);
  survivors.take(bytes, size);
}

}  // namespace clrscope::ops
