// The async stacks of a process (by a frozen twin) or a core as JSON, for tests and bench/:
// `inspect_async PID|CORE`.
#include <fmt/format.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/text.h"
#include "inspect/async/answer.h"
#include "inspect/dac/worker.h"
#include "inspect/heap/heap.h"
#include "inspect/take_snapshot.h"

namespace {

using namespace clrscope;
using namespace clrscope::inspect;

double ms_since(TraceTime start) {
  return std::chrono::duration<double, std::milli>(TraceClock::now() - start).count();
}

Result<AsyncSnapshot> look(const char* what) {
  const auto pid = parse_number(what);
  Twin twin;
  if (pid)
    twin = TRY(make_twin(static_cast<pid_t>(*pid)));
  else
    twin.target = TRY(open_core(what));
  const auto reader = TRY(open_runtime(*twin.target));
  auto start = TraceClock::now();
  const auto heap = TRY(read_heap(*twin.target, *reader, {}));
  fmt::print(stderr, "heap of {} objects: {:.1f} ms\n", heap.graph.objects(), ms_since(start));
  start = TraceClock::now();
  const auto threads = TRY(take_snapshot(*twin.target, reader.get(), {}));
  fmt::print(stderr, "threads: {:.1f} ms\n", ms_since(start));
  start = TraceClock::now();
  auto seen = read_async(*twin.target, *reader, heap, &threads);
  fmt::print(stderr, "async stacks of {} state machines: {:.1f} ms\n", seen.state_machines,
             ms_since(start));
  seen.pause = twin.cost.pause;
  return seen;
}

}  // namespace

int main(int argc, char** argv) {
  if (const auto code = dac_worker_main(argc, argv)) return *code;
  if (argc != 2) return 3;
  const auto seen = look(argv[1]);
  if (!seen) return log_error(seen.error()), 2;
  fmt::print("{}\n", json_line(answer_of(*seen)));
  return 0;
}
