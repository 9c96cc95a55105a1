#include "doctor/diagnose.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "base/text.h"
#include "doctor/threads.h"

namespace clrscope::doctor {
namespace {

bool knows_threads(const inspect::Snapshot& snapshot) {
  return !snapshot.without_os_thread.empty() ||
         std::ranges::any_of(snapshot.threads,
                             [](const auto& thread) { return thread.runtime.has_value(); });
}

// Why it cannot run on this evidence; empty: it can.
std::string hindrance(const Needs& needs, const Evidence& evidence) {
  if (needs.live && !evidence.live) return "needs a live process";
  // Events are examined without what files would add.
  if (!evidence.no_proc.empty() && (needs.state || (needs.files && !needs.events)))
    return evidence.no_proc;
  if (evidence.standstill && (needs.events || needs.cpu || needs.least.count() > 0))
    return "needs a running process, but it is stopped";
  if ((needs.snapshots || needs.async || needs.events || needs.cpu || needs.events_or_snapshots) &&
      !start_held_by(evidence).empty())
    return "needs a runtime that has started";
  const auto missing = [](const std::string& why, std::string_view what) {
    return why.empty() ? fmt::format("needs {}", what) : why;
  };
  if (needs.snapshots && evidence.snapshots.empty())
    return missing(evidence.no_snapshots, "permission to read the process's memory");
  if (needs.snapshots && std::ranges::none_of(evidence.snapshots, knows_threads))
    return "the runtime's threads could not be read";
  if (needs.async && evidence.async.empty())
    return missing(evidence.no_async.empty() ? evidence.no_snapshots : evidence.no_async,
                   "permission to read the process's memory");
  if (needs.events && !evidence.events) return missing(evidence.no_events, "runtime events");
  if (needs.events_or_snapshots && !evidence.events && evidence.snapshots.empty())
    return missing(evidence.no_events.empty() ? evidence.no_snapshots : evidence.no_events,
                   "runtime events, or permission to read the process's memory");
  if (needs.heap && !evidence.heap) return missing(evidence.no_heap, "a look at the heap");
  if (needs.calls && !evidence.calls)
    return missing(evidence.no_calls, "events of HTTP requests and DNS lookups");
  if (needs.commands && !evidence.commands)
    return missing(evidence.no_commands, "events of database commands");
  if (needs.allocations && !evidence.allocations)
    return missing(evidence.no_allocations, "sampled allocations");
  if (needs.cpu && !evidence.cpu) return missing(evidence.no_cpu, "CPU samples");
  constexpr double kNearly = 0.9;  // a snapshot begins late when the machine is busy
  if (needs.least.count() > 0 &&
      evidence.watched_seconds() < kNearly * static_cast<double>(needs.least.count()))
    return fmt::format("needs a duration of {} or more", format_duration(needs.least));
  return {};
}

// The more harm, the earlier; among equals the surer, then the order of the list.
bool before(const Report& a, const Report& b) {
  if (a.severity != b.severity) return a.severity > b.severity;
  return a.confidence > b.confidence;
}

bool all_in(const std::vector<std::uint32_t>& some, const std::vector<std::uint32_t>& all) {
  return !some.empty() && std::ranges::all_of(some, [&](std::uint32_t id) {
    return std::ranges::find(all, id) != all.end();
  });
}

// What follows from what: those who make these suffer are themselves the sufferers of that.
std::string_view cause_of(const Report& report, const std::vector<Report>& reports) {
  for (const auto& other : reports) {
    if (other.id == report.id || other.severity < report.severity) continue;
    if (!all_in(report.culprits, other.sufferers)) continue;
    const bool mutual = all_in(other.culprits, report.sufferers);
    if (!mutual || &other < &report) return other.id;
  }
  return {};
}

// Says the same of the same threads, with less harm.
std::string_view whole_of(const Report& report, const std::vector<Report>& reports) {
  for (const auto& other : reports)
    if (other.id != report.id && other.severity > report.severity &&
        all_in(report.sufferers, other.sufferers))
      return other.id;
  return {};
}

// Behind each report those that follow from it.
std::vector<Report> in_order(std::vector<Report> reports) {
  std::stable_sort(reports.begin(), reports.end(), before);
  for (auto& report : reports) {
    report.because_of = cause_of(report, reports);
    if (report.because_of.empty()) report.part_of = whole_of(report, reports);
  }
  const auto is_root = [&](std::string_view id) {
    return std::ranges::any_of(reports,
                               [&](const auto& one) { return one.id == id && !one.folded(); });
  };
  for (auto& report : reports) {  // of a chain, each stands by itself
    if (!is_root(report.because_of)) report.because_of = {};
    if (!is_root(report.part_of)) report.part_of = {};
  }
  std::vector<Report> ordered;
  for (const auto& root : reports) {
    if (root.folded()) continue;
    const bool first_of_id =
        std::ranges::none_of(ordered, [&](const auto& one) { return one.id == root.id; });
    ordered.push_back(root);
    for (const auto& other : reports)
      if (first_of_id && (other.because_of == root.id || other.part_of == root.id))
        ordered.push_back(other);
  }
  return ordered;
}

Result<> apply(std::vector<Selected>& selected, const std::string& setting) {
  const auto equals = setting.find('=');
  const auto dot = setting.find('.');
  if (equals == std::string::npos || dot > equals)
    return fail(Errc::kUsage, "invalid parameter '{}'", setting)
        .hint("write it as CS1501.perSecond=10; clrscope doctor --list shows all parameters");
  const auto id = setting.substr(0, dot);
  const auto name = setting.substr(dot + 1, equals - dot - 1);
  const auto text = setting.substr(equals + 1);
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size())
    return fail(Errc::kUsage, "'{}' in the parameter '{}' is not a number", text, setting);
  for (auto& one : selected)
    if (equal_ignoring_case(one.finding->id, id)) {
      if (one.parameters.set(name, value)) return {};
      return fail(Errc::kUsage, "{} has no parameter '{}'", one.finding->id, name)
          .hint("clrscope doctor --list shows the parameters of each examination");
    }
  return fail(Errc::kUsage, "the parameter '{}' belongs to an examination that is not selected",
              setting);
}

}  // namespace

std::span<const std::string_view> names_of(Outcome) {
  static constexpr std::array<std::string_view, 3> kNames{"found", "nothing", "notRun"};
  return kNames;
}

bool Diagnosis::has(Severity at_least) const {
  return std::ranges::any_of(reports,
                             [&](const auto& report) { return report.severity >= at_least; });
}

Result<std::vector<Selected>> select(const std::vector<std::string>& ids,
                                     const std::vector<std::string>& settings) {
  std::vector<Selected> selected;
  const auto add = [&](const Finding& finding) {
    selected.push_back({&finding, Parameters{finding.parameters}});
  };
  if (ids.empty())
    for (const auto* finding : findings()) add(*finding);
  for (const auto& id : ids) {
    const auto* finding = find_finding(id);
    if (!finding) {
      std::vector<std::string_view> known;
      for (const auto* one : findings()) known.push_back(one->id);
      auto failure = fail(Errc::kUsage, "unknown examination '{}'", id);
      if (const auto meant = nearest(id, known))
        return std::move(failure).hint("did you mean {}?", *meant);
      return std::move(failure).hint("clrscope doctor --list shows all ids");
    }
    add(*finding);
  }
  for (const auto& setting : settings) TRY(apply(selected, setting));
  return selected;
}

Diagnosis diagnose(const Evidence& evidence, const std::vector<Selected>& selected) {
  Diagnosis diagnosis;
  for (const auto& [finding, parameters] : selected) {
    Examined examined{.finding = finding};
    if (auto reason = hindrance(finding->needs, evidence); !reason.empty()) {
      examined.outcome = Outcome::kNotRun;
      examined.reason = std::move(reason);
    } else {
      auto reports = finding->examine(evidence, parameters);
      if (!reports.empty()) examined.outcome = Outcome::kFound;
      for (auto& report : reports) {
        report.id = finding->id;
        diagnosis.reports.push_back(std::move(report));
      }
    }
    diagnosis.examined.push_back(std::move(examined));
  }
  diagnosis.reports = in_order(std::move(diagnosis.reports));
  return diagnosis;
}

}  // namespace clrscope::doctor
