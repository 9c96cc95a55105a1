// The memory of the agent's method probes, seen from outside. Nothing in it is trusted.
#pragma once

#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/fd.h"
#include "base/result.h"
#include "wire/probes.h"

namespace clrscope::collect {

struct ProbedMethod {
  std::string name;
  wire::ProbeState state{};
  std::uint32_t reason = 0;
  std::int32_t hresult = 0;
  std::uint32_t il_bytes = 0;
  bool has_counter = false;  // it was called
  std::uint64_t enters = 0, leaves = 0;
  std::uint64_t total = 0, self = 0, longest = 0, shortest = 0;  // ticks
};

struct ProbeOptions {
  std::vector<std::string> include{};
  std::vector<std::string> exclude{};
  std::uint32_t smallest_il = 0;
  std::uint32_t share_ppm = 0;
  bool with_accessors = false;
  bool closed = false;
  bool for_requests = false;  // spans of sampled requests, instead of counters
};

class AgentProbes {
 public:
  static Result<AgentProbes> map(UniqueFd memory);

  // For the next kProbesApply.
  Result<> set_order(const ProbeOptions& options);
  wire::ProbeProgress progress() const;
  // Every method that was chosen in this order.
  std::vector<ProbedMethod> methods() const;
  // By the number of its counter; empty: unknown.
  std::string name_of_counter(std::uint32_t counter);
  const wire::ProbesHeader& header() const { return probes_->header; }

 private:
  struct Unmap {
    void operator()(wire::Probes* probes) const;
  };
  explicit AgentProbes(wire::Probes* probes) : probes_(probes) {}
  std::string name_of(const wire::ProbeMethod& method) const;
  void add_counts(std::uint32_t counter, ProbedMethod& method) const;

  std::unique_ptr<wire::Probes, Unmap> probes_;
  std::unordered_map<std::uint32_t, std::uint32_t> by_counter_;  // methods that were found
  std::uint32_t counters_searched_ = 0;  // in use when they were last searched
};

}  // namespace clrscope::collect
