#include "collect/agent/probes.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstring>

#include "base/io.h"
#include "wire/arena.h"

namespace clrscope::collect {
namespace {

constexpr std::uint32_t kLongestName = 2048;

}  // namespace

void AgentProbes::Unmap::operator()(wire::Probes* probes) const {
  ::munmap(probes, wire::kProbesBytes);
}

Result<AgentProbes> AgentProbes::map(UniqueFd memory) {
  struct stat status {};
  const int seals = ::fcntl(memory.get(), F_GET_SEALS);
  if (::fstat(memory.get(), &status) != 0 || !S_ISREG(status.st_mode) ||
      status.st_size != wire::kProbesBytes || seals < 0 || (seals & F_SEAL_SHRINK) == 0)
    return fail(Errc::kCorrupt, "the agent shares memory of an unexpected kind for its probes");
  void* at =
      ::mmap(nullptr, wire::kProbesBytes, PROT_READ | PROT_WRITE, MAP_SHARED, memory.get(), 0);
  if (at == MAP_FAILED)
    return fail(errc_of(errno), "cannot map the probes of the agent: {}", errno_text());
  if (!wire::is_probes(at, wire::kProbesBytes, wire::kProtocol)) {
    ::munmap(at, wire::kProbesBytes);
    return fail(Errc::kCorrupt, "the memory of the agent's probes has another layout");
  }
  return AgentProbes{static_cast<wire::Probes*>(at)};
}

Result<> AgentProbes::set_order(const ProbeOptions& options) {
  std::string text;
  const auto add = [&](char sign, const std::vector<std::string>& patterns) -> Result<> {
    for (const auto& pattern : patterns) {
      if (pattern.empty() || pattern.find('\n') != std::string::npos)
        return fail(Errc::kUsage, "a method pattern must not be empty");
      if (pattern.front() == '[' && (pattern.size() < 3 || pattern.back() != ']'))
        return fail(Errc::kUsage, "an attribute pattern must be [NAME]: {}", pattern);
      text += sign + pattern + '\n';
    }
    return {};
  };
  TRY(add('+', options.include));
  TRY(add('-', options.exclude));
  if (text.size() > wire::kPatternBytes)
    return fail(Errc::kUsage, "the patterns must not be longer than {} bytes together",
                wire::kPatternBytes);
  auto& order = probes_->order;
  order.flags = (options.with_accessors ? wire::kWithAccessors : 0U) |
                (options.closed ? wire::kClosed : 0U) |
                (options.for_requests ? wire::kForRequests : 0U);
  order.smallest_il = options.smallest_il;
  order.share_ppm = options.share_ppm;
  order.pattern_bytes = static_cast<std::uint32_t>(text.size());
  std::memcpy(order.patterns, text.data(), text.size());
  return {};
}

wire::ProbeProgress AgentProbes::progress() const {
  return static_cast<wire::ProbeProgress>(probes_->header.progress.load(std::memory_order_acquire));
}

void AgentProbes::add_counts(std::uint32_t counter, ProbedMethod& method) const {
  std::uint64_t inverted = 0;
  const auto used = probes_->header.threads.load();
  for (std::uint32_t slab = 0; slab < wire::kProbeSlabs && slab < used; ++slab) {
    const auto& one = probes_->counters[slab][counter];
    method.enters += one.enters.load(std::memory_order_relaxed);
    method.leaves += one.leaves.load(std::memory_order_relaxed);
    method.total += one.total.load(std::memory_order_relaxed);
    method.self += one.self.load(std::memory_order_relaxed);
    method.longest = std::max(method.longest, one.longest.load(std::memory_order_relaxed));
    inverted = std::max(inverted, one.shortest.load(std::memory_order_relaxed));
  }
  if (method.leaves > 0) method.shortest = ~inverted;
}

std::string AgentProbes::name_of(const wire::ProbeMethod& method) const {
  const auto offset = method.name_offset;
  const auto size = std::min(method.name_size, kLongestName);
  if (offset > wire::kProbeTextBytes || size > wire::kProbeTextBytes - offset) return {};
  return {probes_->text + offset, size};
}

std::string AgentProbes::name_of_counter(std::uint32_t counter) {
  auto found = by_counter_.find(counter);
  const auto counters = probes_->header.counters.load();
  if (found == by_counter_.end() && counters != counters_searched_) {
    counters_searched_ = counters;
    const auto count = std::min(probes_->header.methods.load(), wire::kProbeMethods);
    for (std::uint32_t i = 0; i < count; ++i)
      if (const auto number = probes_->methods[i].counter.load(); number < wire::kProbeCounters)
        by_counter_.try_emplace(number, i);
    found = by_counter_.find(counter);
  }
  return found == by_counter_.end() ? std::string{} : name_of(probes_->methods[found->second]);
}

std::vector<ProbedMethod> AgentProbes::methods() const {
  std::vector<ProbedMethod> out;
  const auto count = std::min(probes_->header.methods.load(), wire::kProbeMethods);
  for (std::uint32_t i = 0; i < count; ++i) {
    const auto& method = probes_->methods[i];
    const auto state = static_cast<wire::ProbeState>(method.state.load(std::memory_order_acquire));
    if (state == wire::ProbeState::kNone) continue;
    ProbedMethod one{.name = name_of(method),
                     .state = state,
                     .reason = method.reason.load(),
                     .hresult = method.hresult.load(),
                     .il_bytes = method.il_bytes};
    if (const auto counter = method.counter.load(); counter < wire::kProbeCounters) {
      one.has_counter = true;
      add_counts(counter, one);
    }
    out.push_back(std::move(one));
  }
  return out;
}

}  // namespace clrscope::collect
