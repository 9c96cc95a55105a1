#include "ops/requests.h"

#include "base/clock.h"
#include "inspect/heap/heap.h"

namespace clrscope::ops {
namespace {

Result<inspect::RequestsSnapshot> read(inspect::Target& target,
                                       std::optional<inspect::RequestClock> now) {
  const auto start = TraceClock::now();
  const auto frozen = TRY(
      read_frozen(target, {.only_with_type = inspect::kHttpContextType, .static_names = false}));
  auto seen = inspect::read_requests(target, *frozen.reader, frozen.heap,
                                     frozen.threads ? &*frozen.threads : nullptr,
                                     async_stacks_of(target, frozen), now);
  seen.async.took = TraceClock::now() - start;
  return seen;
}

inspect::RequestClock clock_now() {
  return {.wall = std::chrono::system_clock::now(),
          .monotonic = TraceClock::now().time_since_epoch()};
}

}  // namespace

Result<inspect::RequestsSnapshot> take_requests(const AsyncRequest& request) {
  if (request.over) return fail(Errc::kUsage, "--over does not apply to --requests");
  if (!request.core.empty()) {
    TRY(check_core_alone(request));
    const auto core = TRY(inspect::open_core(request.core));
    auto seen = TRY(read(*core, {}));
    seen.async.name = request.core;
    return seen;
  }
  const auto found = TRY(find_frozen_target(request, "requests in flight"));
  const auto read_one = [](inspect::Twin& twin) -> Result<inspect::RequestsSnapshot> {
    auto made = TRY(read(*twin.target, clock_now()));
    note_twin(made.async, twin);
    return made;
  };
  auto seen = TRY(read_twin(found.pid, read_one));
  seen.async.name = found.name;
  if (seen.async.runtime.empty()) seen.async.runtime = found.runtime;
  return seen;
}

std::string requests_json(const inspect::RequestsSnapshot& seen) {
  return json_line(answer_of(seen));
}

}  // namespace clrscope::ops
