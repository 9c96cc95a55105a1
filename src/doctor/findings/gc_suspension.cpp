// A collection cannot begin: a thread in cooperative mode stays in native code that does not
// return.
#include <fmt/format.h>

#include <algorithm>

#include "doctor/threads.h"

namespace clrscope::doctor {
namespace {

using inspect::FrameKind;
using inspect::ThreadView;

// Managed code called straight into native code and is still the runtime's "runs managed code".
// Threads of the runtime itself (below native frames: its own) do the collection, not delay it.
bool holds_up(const ThreadView& thread) {
  if (!thread.runtime || !thread.runtime->cooperative || thread.frames.empty()) return false;
  if (thread.frames.front().kind != FrameKind::kNative) return false;
  const auto caller = std::ranges::find_if(
      thread.frames, [](const auto& frame) { return frame.kind != FrameKind::kNative; });
  return caller != thread.frames.end() && caller->kind != FrameKind::kRuntime;
}

bool holds_up_in_all(const Evidence& evidence, std::uint32_t os_id) {
  return std::ranges::all_of(evidence.snapshots, [&](const auto& snapshot) {
    const auto* thread = find_thread(snapshot, os_id);
    return thread && holds_up(*thread);
  });
}

bool blocked_in_all(const Evidence& evidence, std::uint32_t os_id) {
  return std::ranges::all_of(evidence.snapshots, [&](const auto& snapshot) {
    return !find_thread(snapshot, os_id)->running;
  });
}

std::vector<Report> examine(const Evidence& evidence, const Parameters& /*parameters*/) {
  if (evidence.snapshots.size() < 2 || evidence.standstill) return {};
  const bool silent = evidence.silent.count() > 0;
  std::vector<Report> reports;
  for (const auto& thread : evidence.last_snapshot()->threads) {
    if (!holds_up_in_all(evidence, thread.os_id())) continue;
    // One that computes may be inside a short call in every snapshot: the silent runtime is the
    // proof.
    const bool blocked = blocked_in_all(evidence, thread.os_id());
    if (!blocked && !silent) continue;
    const auto name = label(*evidence.last_snapshot(), thread.os_id());
    Report report{.severity = Severity::kError,
                  .confidence = blocked && silent ? Confidence::kCertain : Confidence::kLikely};
    report.title = silent ? fmt::format("GC suspension waits for {} in {}", name, site_text(thread))
                          : fmt::format("No GC can start: {} is blocked in cooperative mode in {}",
                                        name, site_text(thread));
    report.summary = fmt::format(
        "It called native code without leaving cooperative mode and did not return in {}. A GC, a "
        "profiler or a debugger that suspends the runtime waits for it, and every other managed "
        "thread waits for them.",
        counted(evidence.snapshots.size(), "snapshot"));
    report.threads = {shown(thread, thread.waiting_for && !thread.waiting_for->detail.empty()
                                        ? "in native code: " + thread.waiting_for->detail
                                        : "in native code")};
    report.advice = fmt::format(
        "remove [SuppressGCTransition] from what {} calls: the attribute is for native code that "
        "returns within a microsecond and never blocks",
        site_text(thread));
    report.culprits = {thread.os_id()};
    reports.push_back(std::move(report));
  }
  return reports;
}

}  // namespace

extern const Finding gc_suspension_finding{
    .id = "CS1305",
    .title = "GC suspension",
    .description =
        "A thread stays in native code in cooperative mode, so no garbage collection can start.",
    .needs = {.snapshots = true, .live = true, .least = std::chrono::seconds{1}},
    .price = ".NET 10: no pause; 8 and 9: a few milliseconds per snapshot",
    .rights = "permission to read the process's memory (its user, or CAP_SYS_PTRACE)",
    .examine = examine,
};

}  // namespace clrscope::doctor
