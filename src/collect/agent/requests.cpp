#include "collect/agent/requests.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstring>

#include "base/io.h"

namespace clrscope::collect {
namespace {

constexpr double kMillion = 1e6;

std::uint32_t ppm_of(double share) {
  return static_cast<std::uint32_t>(std::clamp(share, 0.0, 1.0) * kMillion + 0.5);
}

std::chrono::nanoseconds time_of(std::uint64_t ns) {
  constexpr std::uint64_t kMost = std::uint64_t{1} << 60;
  return std::chrono::nanoseconds{static_cast<std::int64_t>(std::min(ns, kMost))};
}

}  // namespace

void AgentRequests::Unmap::operator()(wire::Requests* requests) const {
  ::munmap(requests, wire::kRequestsBytes);
}

AgentRequests::AgentRequests(wire::Requests* requests) : requests_(requests) {
  rings_.reserve(wire::kRequestRings);
  for (auto& ring : requests->rings) rings_.emplace_back(ring);
}

Result<AgentRequests> AgentRequests::map(UniqueFd memory) {
  struct stat status {};
  const int seals = ::fcntl(memory.get(), F_GET_SEALS);
  if (::fstat(memory.get(), &status) != 0 || !S_ISREG(status.st_mode) ||
      status.st_size != wire::kRequestsBytes || seals < 0 || (seals & F_SEAL_SHRINK) == 0)
    return fail(Errc::kCorrupt, "the agent shares memory of an unexpected kind for its requests");
  void* at =
      ::mmap(nullptr, wire::kRequestsBytes, PROT_READ | PROT_WRITE, MAP_SHARED, memory.get(), 0);
  if (at == MAP_FAILED)
    return fail(errc_of(errno), "cannot map the requests of the agent: {}", errno_text());
  if (!wire::is_requests(at, wire::kRequestsBytes, wire::kProtocol)) {
    ::munmap(at, wire::kRequestsBytes);
    return fail(Errc::kCorrupt, "the memory of the agent's requests has another layout");
  }
  return AgentRequests{static_cast<wire::Requests*>(at)};
}

Result<> AgentRequests::set_order(const SamplingOptions& options) {
  if (options.debug_key.size() > wire::kMostDebugKey)
    return fail(Errc::kUsage, "the debug key must not be longer than {} bytes",
                wire::kMostDebugKey);
  auto& order = requests_->order;
  order.flags = options.probability ? wire::kSampleFixed : 0U;
  order.probability_ppm = ppm_of(options.probability.value_or(1));
  order.budget_ppm = ppm_of(options.budget_percent / 100);
  order.floor_seconds = options.floor_seconds;
  order.key_bytes = static_cast<std::uint32_t>(options.debug_key.size());
  std::memcpy(order.key, options.debug_key.data(), options.debug_key.size());
  return {};
}

void AgentRequests::drain(const std::function<void(const void*, std::uint32_t)>& take) {
  for (auto& ring : rings_) ring.drain(take);
}

std::uint64_t AgentRequests::damaged() const {
  std::uint64_t count = 0;
  for (const auto& ring : rings_) count += ring.damaged();
  return count;
}

RequestCounts AgentRequests::counts() const {
  const auto& header = requests_->header;
  return {.helper = static_cast<wire::HelperState>(header.helper.load()),
          .seen = header.seen.load(),
          .sampled = header.sampled.load(),
          .forced = header.forced.load(),
          .by_floor = header.by_floor.load(),
          .ended = header.ended.load(),
          .spans = header.spans.load(),
          .flows = header.flows.load(),
          .in_flight = header.in_flight.load(),
          .probability = std::min(header.probability_ppm.load() / kMillion, 1.0),
          .cost = time_of(header.cost_ns.load()),
          .hearing = time_of(header.hearing_ns.load()),
          .process = time_of(header.process_ns.load()),
          .dropped = header.dropped_full.load() + header.dropped_busy.load(),
          .ends_dropped = header.ends_dropped.load()};
}

}  // namespace clrscope::collect
