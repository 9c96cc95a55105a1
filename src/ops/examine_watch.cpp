#include "ops/examine_watch.h"

#include <poll.h>

#include <algorithm>

#include "base/clock.h"
#include "base/proc.h"

namespace clrscope::ops {
namespace {

bool is_readable(std::span<const int> fds) {
  std::vector<pollfd> polled;
  for (const int fd : fds) polled.push_back({.fd = fd, .events = POLLIN, .revents = 0});
  return ::poll(polled.data(), polled.size(), 0) > 0;
}

class Vigil {
 public:
  Vigil(const FindingWatchRequest& request, const FindingWatchListener& listener)
      : request_(request), listener_(listener), each_(request.each) {
    if (each_.only.empty()) each_.only = cheap_findings();
    each_.recording = false;
    // Some findings compare three snapshots.
    each_.between_snapshots =
        std::max<std::chrono::nanoseconds>(std::chrono::milliseconds{200}, request.interval / 3);
  }

  Result<FindingWatchReport> run() {
    const Deadline end{request_.duration.value_or(std::chrono::hours{24 * 365})};
    while (!end.passed() && !report_.process_ended && !is_readable(each_.stop_fds)) {
      each_.duration = std::min<std::chrono::nanoseconds>(request_.interval, end.left());
      const bool whole = *each_.duration == request_.interval;
      if (report_.examinations > 0 && !whole) break;  // too short to compare with the others
      TRY(examine_once());
    }
    report_.open = history_.open();
    return report_;
  }

 private:
  Result<> examine_once() {
    auto found = examine(each_, {}, &bedside_);
    if (!found) {
      if (report_.examinations == 0 || !has_ended(last_.process.pid)) return fail(found.error());
      return end();
    }
    if (report_.examinations++ == 0 && listener_.on_start) listener_.on_start(*found);
    last_ = *std::move(found);
    for (const auto& report : last_.diagnosis.reports)
      report_.worst = std::max(report_.worst.value_or(report.severity), report.severity);
    if (!is_readable(each_.stop_fds)) tell(history_.add(wall_now(), last_.diagnosis.reports));
    return has_ended(last_.process.pid) ? end() : Result<>{};
  }

  Result<> end() {
    report_.process_ended = true;
    tell(history_.end(wall_now()));
    return {};
  }

  void tell(const std::vector<FindingChange>& changes) {
    if (!listener_.on_change) return;
    for (const auto& change : changes) listener_.on_change(last_, change);
  }

  const FindingWatchRequest& request_;
  const FindingWatchListener& listener_;
  ExamineRequest each_;
  Bedside bedside_;
  doctor::FindingHistory history_;
  doctor::Examination last_;
  FindingWatchReport report_;
};

}  // namespace

std::vector<std::string> cheap_findings() {
  std::vector<std::string> ids;
  for (const auto* finding : findings()) {
    const auto& needs = finding->needs;
    // A look at the heap copies the process each time.
    if (!needs.events && !needs.cpu && !needs.heap && !needs.async) ids.emplace_back(finding->id);
  }
  return ids;
}

const Shape& shape_of(const ChangeAnswer*) {
  using T = ChangeAnswer;
  static const auto shape = clrscope::describe<T>(
      "FindingChange", "a finding that began or ended",
      {member<&T::time>("time", "time of the change"),
       member<&T::change>("change", "whether the finding began or ended"),
       member<&T::pid>("pid", "process id"), member<&T::process>("process", "process name"),
       member<&T::began>("began", "when the finding was first seen"),
       member<&T::lasted>("lastedMs", "how long it was there, when it has ended"),
       member<&T::finding>("finding", "the finding as it was last seen")});
  return shape;
}

ChangeAnswer answer_of(const doctor::Examination& examination, const FindingChange& change) {
  ChangeAnswer answer{.time = change.time,
                      .change = change.kind,
                      .pid = examination.process.pid,
                      .process = examination.process.name,
                      .began = change.began,
                      .finding = doctor::answer_of(change.report)};
  if (change.kind == FindingChange::Kind::kEnded) answer.lasted = change.time - change.began;
  return answer;
}

Result<FindingWatchReport> watch_findings(const FindingWatchRequest& request,
                                          const FindingWatchListener& listener) {
  TRY(doctor::select(request.each.only, request.each.settings));
  if (!request.each.core.empty())
    return fail(Errc::kUsage, "--watch requires a live process").hint("use -p PID or -n NAME");
  return Vigil{request, listener}.run();
}

}  // namespace clrscope::ops
