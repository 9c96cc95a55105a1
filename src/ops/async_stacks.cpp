#include "ops/async_stacks.h"

#include <fmt/format.h>
#include <poll.h>

#include <algorithm>

#include "base/clock.h"
#include "inspect/heap/heap.h"
#include "ops/running_process.h"

namespace clrscope::ops {
namespace {

// Everything there is in a target that does not change.
Result<inspect::AsyncSnapshot> read(inspect::Target& target) {
  const auto start = TraceClock::now();
  auto seen = async_stacks_of(target, TRY(read_frozen(target)));
  seen.took = TraceClock::now() - start;
  return seen;
}

void take_threads(inspect::Target& target, Frozen& frozen) {
  auto threads = inspect::take_snapshot(target, frozen.reader.get(), {});
  if (threads)
    frozen.threads = *std::move(threads);
  else
    frozen.threads_missing = threads.error().what;
}

void note_threads(inspect::AsyncSnapshot& seen, const std::string& missing) {
  if (!missing.empty())
    seen.notes.push_back("which thread runs or awaits what is unknown: " + missing);
}

void wait_for(std::chrono::nanoseconds time, std::span<const int> stop_fds) {
  std::vector<pollfd> fds;
  for (const int fd : stop_fds) fds.push_back({.fd = fd, .events = POLLIN, .revents = 0});
  const auto whole = std::chrono::ceil<std::chrono::milliseconds>(time);
  ::poll(fds.data(), fds.size(), static_cast<int>(whole.count()));
}

}  // namespace

Result<Frozen> read_frozen(inspect::Target& target, const inspect::HeapOptions& options) {
  Frozen frozen{.reader = TRY(inspect::open_runtime(target))};
  frozen.heap = TRY(inspect::read_heap(target, *frozen.reader, options));
  TRY(inspect::check_names(frozen.heap));
  if (frozen.heap.graph.has_references()) take_threads(target, frozen);
  return frozen;
}

inspect::AsyncSnapshot async_stacks_of(inspect::Target& target, const Frozen& frozen) {
  auto seen = inspect::read_async(target, *frozen.reader, frozen.heap,
                                  frozen.threads ? &*frozen.threads : nullptr);
  note_threads(seen, frozen.threads_missing);
  for (const auto& note : frozen.heap.notes)  // no async stack has a root
    if (!note.starts_with("stack roots") && !note.starts_with("static fields"))
      seen.notes.push_back(note);
  if (seen.runtime.empty()) seen.runtime = frozen.heap.runtime;
  return seen;
}

inspect::AsyncSnapshot async_stacks_in(inspect::Target& target, inspect::RuntimeReader& reader,
                                       const HeapSnapshot& heap) {
  const auto threads = inspect::take_snapshot(target, &reader, {});
  auto seen = inspect::read_async(target, reader, heap, threads ? &*threads : nullptr);
  if (!threads) note_threads(seen, threads.error().what);
  return seen;
}

void note_twin(inspect::AsyncSnapshot& seen, const inspect::Twin& twin) {
  seen.pause = twin.cost.pause;
  if (!twin.between_collections)
    seen.notes.emplace_back(
        "whether a garbage collection was in progress is unknown: objects may be missing");
}

Result<inspect::AsyncSnapshot> read_async_stacks(pid_t pid) {
  return read_twin(pid, [](inspect::Twin& twin) -> Result<inspect::AsyncSnapshot> {
    auto seen = TRY(read(*twin.target));
    note_twin(seen, twin);
    return seen;
  });
}

Result<inspect::AsyncSnapshot> read_async_stacks_of_core(const std::string& path) {
  const auto core = TRY(inspect::open_core(path));
  auto seen = TRY(read(*core));
  seen.name = path;
  return seen;
}

Result<> check_core_alone(const AsyncRequest& request) {
  if (request.target.pid || request.target.name || request.target.diagnostic_port)
    return fail(Errc::kUsage, "more than one target")
        .hint("use a core file, -p or -n, but only one of them");
  return {};
}

Result<RunningProcess> find_frozen_target(const AsyncRequest& request, std::string_view what) {
  const auto found =
      request.target.uid ? RunningProcess{} : TRY(find_running(request.target, "stacks"));
  if (found.pid == 0)
    return fail(Errc::kUnsupported,
                "{} require the process's memory, and only its diagnostic port is accessible", what)
        .hint(
            "run clrscope in the pid namespace of the process, or on a dump of type heap or full");
  return found;
}

Result<inspect::AsyncSnapshot> take_async_stacks(const AsyncRequest& request) {
  if (!request.core.empty()) {
    TRY(check_core_alone(request));
    if (request.over)
      return fail(Errc::kUsage, "a core file is one snapshot: there is nothing to compare")
          .hint("use --over with a running process");
    return read_async_stacks_of_core(request.core);
  }
  constexpr std::chrono::hours kMostOver{1};
  if (request.over && (request.over->count() <= 0 || *request.over > kMostOver))
    return fail(Errc::kUsage, "--over must be greater than zero and at most 1h");
  const auto found = TRY(find_frozen_target(request, "async stacks"));
  auto seen = TRY(read_async_stacks(found.pid));
  if (request.over) {
    const auto before = std::move(seen);
    const auto start = TraceClock::now();
    wait_for(*request.over, request.stop_fds);
    seen = TRY(read_async_stacks(found.pid));
    seen.over = TraceClock::now() - start;
    seen.pause += before.pause;
    inspect::mark_unchanged(seen, before);
  }
  seen.name = found.name;
  if (seen.runtime.empty()) seen.runtime = found.runtime;
  return seen;
}

std::string async_json(const inspect::AsyncSnapshot& seen) { return json_line(answer_of(seen)); }

}  // namespace clrscope::ops
