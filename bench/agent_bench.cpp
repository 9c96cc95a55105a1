// What the agent's hot paths cost without a runtime: nanoseconds per record and per name.
//
//   agent_bench [MILLION]     records in millions
//
// One line per number: name, value, unit. bench/agent_bench.py puts the budgets beside them.
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <vector>

#include "agent/probes.h"
#include "agent/recorder.h"

namespace {

using namespace clrscope;

double cpu_ns() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e9 + static_cast<double>(now.tv_nsec);
}

}  // namespace

int main(int argc, char** argv) {
  const long millions = argc > 1 ? std::atol(argv[1]) : 20;
  agent::Recorder recorder;
  if (!recorder.open()) return std::fprintf(stderr, "agent_bench: no arena\n"), 2;
  std::vector<wire::RingReader> rings;
  rings.reserve(wire::kRings);
  for (auto& ring : recorder.arena()->rings) rings.emplace_back(ring);

  const wire::ExceptionThrown record{
      .header = {.kind = wire::RecordKind::kExceptionThrown, .bytes = 0, .thread = 7, .time = 1},
      .number = 1,
      .type = 1,
      .frames = 0};
  constexpr long kBatch = 2000;  // fits into a ring
  double spent = 0;
  std::uint64_t read = 0;
  const long batches = millions * 1'000'000 / kBatch;
  for (long batch = 0; batch < batches; ++batch) {
    const auto begin = cpu_ns();
    for (long i = 0; i < kBatch; ++i) recorder.write(record);
    spent += cpu_ns() - begin;
    for (auto& ring : rings) ring.drain([&](const void*, std::uint32_t) { ++read; });
  }
  std::printf("record %.2f ns\n", spent / static_cast<double>(batches * kBatch));

  bool is_new = false;
  std::uint64_t sum = 0;
  const auto begin = cpu_ns();
  for (long i = 0; i < 10'000'000; ++i)
    sum += recorder.slot_of(static_cast<agent::Id>(0x1000 + (i % 500) * 8), is_new);
  std::printf("name %.2f ns\n", (cpu_ns() - begin) / 1e7 + (sum == 1 ? 1 : 0));
  agent::ProbeTable probes;
  if (!probes.open()) return std::fprintf(stderr, "agent_bench: no probes\n"), 2;
  probes.reset(1);
  const auto first = cpu_ns();
  for (long i = 0; i < 10'000'000; ++i) {
    std::uint64_t saved = 0;
    const auto start = agent::probe_enter(0, &saved);
    agent::probe_leave(0, start, saved);
  }
  std::printf("probe %.2f ns\n", (cpu_ns() - first) / 1e7);
  std::printf("lost %.0f records\n",
              static_cast<double>(batches * kBatch) - static_cast<double>(read));
  return 0;
}
