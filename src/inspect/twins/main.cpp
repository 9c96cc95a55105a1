// inspect_twins PID ROUNDS [HOLD_MS]: makes twins of a process, one after the other, and says what
// each cost it, a line of JSON each; for bench/twin_bench.py.
#include <fmt/format.h>
#include <poll.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/text.h"
#include "inspect/target.h"

namespace {

using namespace clrscope;

double in_ms(std::chrono::nanoseconds time) {
  return std::chrono::duration<double, std::milli>(time).count();
}

}  // namespace

int main(int argc, char** argv) {
  const auto pid = argc > 2 ? parse_number(argv[1]) : std::nullopt;
  const auto rounds = argc > 2 ? parse_number(argv[2]) : std::nullopt;
  const auto hold = argc > 3 ? parse_number(argv[3]) : 0;
  if (!pid || !rounds || !hold) return 3;
  for (std::uint64_t round = 0; round < *rounds; ++round) {
    const auto start = TraceClock::now();
    auto twin = inspect::make_twin(static_cast<pid_t>(*pid));
    if (!twin) return log_error(twin.error()), 1;
    const auto made = TraceClock::now();
    ::poll(nullptr, 0, static_cast<int>(*hold));
    const auto cost = twin->end();
    const auto end = TraceClock::now();
    fmt::print(
        R"({{"startNs": {}, "madeMs": {:.3f}, "endNs": {}, "pauseMs": {:.3f}, "stops": {}, )"
        R"("reapMs": {:.3f}, "copiedPages": {}, "copyingMs": {:.3f}, "firstWritesMs": {:.3f}, )"
        R"("atMostMs": {:.3f}}})"
        "\n",
        start.time_since_epoch().count(), in_ms(made - start), end.time_since_epoch().count(),
        in_ms(cost.pause), cost.stops, in_ms(cost.reap_pause), cost.copied_pages,
        in_ms(cost.copying), in_ms(cost.first_writes), in_ms(cost.at_most()));
    std::fflush(stdout);
  }
  return 0;
}
