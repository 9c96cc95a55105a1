// Objects with finalizers come faster than the finalizer thread gets through them.
#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "doctor/threads.h"

namespace clrscope::doctor {
namespace {

constexpr std::string_view kFinalizer = ".NET Finalizer";
constexpr Parameter kParameters[] = {
    {"objects", 500, "number of objects that wait for their finalizers"},
    {"perSecond", 20, "by so many more each second"},
};

const inspect::ThreadView* finalizer_thread(const Evidence& evidence) {
  const auto* last = evidence.last_snapshot();
  if (!last) return nullptr;
  const auto at = std::ranges::find_if(
      last->threads, [](const auto& thread) { return thread.os.name == kFinalizer; });
  return at == last->threads.end() ? nullptr : &*at;
}

bool in_own_code(const inspect::ThreadView& thread) {
  const auto* site = site_of(thread);
  return site && site->kind == inspect::FrameKind::kManaged;
}

std::vector<Report> examine(const Evidence& evidence, const Parameters& parameters) {
  const auto& looks = evidence.heap->finalizers;
  if (looks.size() < 2) return {};
  const auto& first = looks.front();
  const auto& last = looks.back();
  const auto seconds = std::chrono::duration<double>(last.at - first.at).count();
  if (seconds <= 0 || static_cast<double>(last.due) < parameters["objects"]) return {};
  if (!std::ranges::is_sorted(looks, {}, &analyze::FinalizerLook::due)) return {};
  const auto rate = static_cast<double>(last.due - first.due) / seconds;
  if (rate < parameters["perSecond"]) return {};
  const auto* thread = finalizer_thread(evidence);
  // One that does not move at all is another finding, and the cause of this.
  if (thread && unmoved(evidence, thread->os_id()) && in_own_code(*thread)) return {};

  const auto type = last.types.empty() ? std::string{} : last.types.front().first;
  Report report{.severity = Severity::kWarning, .confidence = Confidence::kCertain};
  report.title = fmt::format(
      "Finalizer backlog: {} wait for their finalizers, {:.0f} more each "
      "second",
      counted(last.due, "object"), rate);
  report.summary =
      "One thread runs all finalizers, and does not get through them. The objects, and all that "
      "they refer to, stay in memory until then.";
  for (const auto& [name, count] : last.types)
    report.details.push_back(fmt::format("{} × {}", format_count(count), name));
  if (thread && in_own_code(*thread))
    report.threads.push_back(shown(*thread, "runs finalizers", 5));
  report.numbers = {{"waiting", static_cast<double>(last.due), "", counted(last.due, "object")},
                    {"perSecond", rate, "1/s", fmt::format("{:.0f} more each second", rate)}};
  report.advice = fmt::format(
      "dispose {} (using, Dispose with GC.SuppressFinalize) so that no finalizer has to run; do "
      "little in finalizers",
      type.empty() ? "the objects" : type);
  return {report};
}

}  // namespace

extern const Finding finalizer_backlog_finding{
    .id = "CS1609",
    .title = "finalizer backlog",
    .description = "More and more objects wait for their finalizers to run.",
    .needs = {.snapshots = true, .heap = true, .live = true, .least = std::chrono::seconds{2}},
    .price = "the heap snapshots of CS1620",
    .rights = "permission to read the process's memory (its user, or CAP_SYS_PTRACE)",
    .parameters = kParameters,
    .examine = examine,
};

}  // namespace clrscope::doctor
