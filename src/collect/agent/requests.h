// The memory of the agent's request profiling, seen from outside. Nothing in it is trusted.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/fd.h"
#include "base/result.h"
#include "wire/requests.h"
#include "wire/ring.h"

namespace clrscope::collect {

struct SamplingOptions {
  std::optional<double> probability{};  // 0 to 1; empty: as many as the budget allows
  double budget_percent = 1;            // of the CPU time of the process, for the agent's hooks
  std::uint32_t floor_seconds = 10;     // a path not sampled for so long is sampled; 0: none
  std::string debug_key{};              // requests that carry it are sampled; empty: none
  bool operator==(const SamplingOptions&) const = default;
};

// What the header says at one moment.
struct RequestCounts {
  wire::HelperState helper{};
  std::uint64_t seen = 0, sampled = 0, forced = 0, by_floor = 0, ended = 0;
  std::uint64_t spans = 0, flows = 0;
  std::uint32_t in_flight = 0;
  double probability = 0;
  std::chrono::nanoseconds cost{};
  std::chrono::nanoseconds hearing{};  // of it: what all requests cause, sampled or not
  std::chrono::nanoseconds process{};
  std::uint64_t dropped = 0;       // records
  std::uint64_t ends_dropped = 0;  // of them: ends of requests
};

class AgentRequests {
 public:
  static Result<AgentRequests> map(UniqueFd memory);

  // For the next kRequestsStart.
  Result<> set_order(const SamplingOptions& options);
  // Calls take(bytes, size) with each record that has come since the last call; in order of each
  // ring, not among rings.
  void drain(const std::function<void(const void*, std::uint32_t)>& take);
  std::uint64_t damaged() const;  // times the rest of a ring was skipped

  std::uint64_t api() const { return requests_->header.api.load(); }
  RequestCounts counts() const;

 private:
  struct Unmap {
    void operator()(wire::Requests* requests) const;
  };
  explicit AgentRequests(wire::Requests* requests);

  std::unique_ptr<wire::Requests, Unmap> requests_;
  std::vector<wire::RingReader> rings_;
};

}  // namespace clrscope::collect
