// Which requests get spans, so that the cost of the hooks stays within a share of the CPU time that
// the process uses.
//
// The cost of a sampled request is estimated from what earlier ones caused. How long the hooks of
// any request take is measured, since it depends on the machine and on what its caches hold; the
// prices of all other hooks but spans rise and fall with it. The probability is
// budget / (requests per second × cost of one): it falls as load rises. A store of unused budget
// is a hard limit on top of it. Paths that were not sampled for a while are sampled as long as
// there is budget. Decisions come on any thread; update() on one. Knows no clock.
#pragma once

#include <atomic>
#include <cstdint>

namespace clrscope::agent {

enum class Choice : std::uint8_t { kNo, kChance, kFloor, kForced };

struct SamplingOptions {
  bool fixed = false;  // probability as given, no budget
  std::uint32_t probability_ppm = 1'000'000;
  std::uint32_t budget_ppm = 10'000;  // of the CPU time of the process
  std::uint32_t floor_seconds = 10;   // 0: no floor
};

// Counted by the hooks since the start, but for the last.
struct HookCounts {
  std::uint64_t seen = 0;
  std::uint64_t sampled = 0;
  std::uint64_t spans = 0;
  std::uint64_t steps = 0;  // of async methods: those among the spans
  std::uint64_t flows = 0;
  std::uint64_t own_ns = 0;   // of the agent's thread
  std::uint64_t seen_ns = 0;  // begin and end of a request, measured lately; 0: not yet

  HookCounts since(const HookCounts& earlier) const;
};

class Sampling {
 public:
  static constexpr std::uint64_t kUpdateNs = 200'000'000;

  constexpr Sampling() = default;

  void start(const SamplingOptions& options, std::uint64_t now_ns, std::uint64_t process_ns);
  Choice choose(std::uint64_t random, std::uint64_t path_hash, bool forced, std::uint64_t now_ns);
  // Now and then: what the hooks have done, and the CPU time of the process.
  void update(const HookCounts& counts, std::uint64_t now_ns, std::uint64_t process_ns);

  std::uint32_t probability_ppm() const { return probability_ppm_.load(std::memory_order_relaxed); }
  static std::uint64_t cost_of(const HookCounts& counts);

 private:
  static constexpr std::uint32_t kPaths = 4096;

  bool take(std::int64_t ns);

  SamplingOptions options_{};
  std::atomic<std::uint32_t> probability_ppm_{0};
  std::atomic<std::int64_t> budget_ns_{0};      // that may be spent
  std::atomic<std::int64_t> one_ns_{0};         // estimated cost of a sampled request
  std::atomic<std::uint32_t> paths_[kPaths]{};  // second of the last sample + 1, by hash
  // update() only
  HookCounts last_{};
  std::uint64_t last_ns_ = 0;
  std::uint64_t last_process_ns_ = 0;
  double per_second_ = 0;  // requests
  double own_ns_ = 0;      // of the agent's thread, per second
  double share_ns_ = 0;    // budget per second
};

}  // namespace clrscope::agent
