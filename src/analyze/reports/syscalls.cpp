// System calls by process: how many, how long, what failed, from where.
#include "analyze/syscalls.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "analyze/parts.h"
#include "analyze/report.h"
#include "analyze/words.h"

namespace clrscope::analyze {
namespace {

constexpr std::size_t kPlacesInJson = 10;

std::chrono::nanoseconds time_of(std::uint64_t ns) {
  return std::chrono::nanoseconds{static_cast<std::int64_t>(ns)};
}
std::uint64_t mean_ns(const SyscallRow& row) { return row.timed == 0 ? 0 : row.ns / row.timed; }
std::string process_text(const SyscallRow& row) {
  const auto pid = static_cast<std::int32_t>(row.process);
  return row.process_name.empty() ? fmt::format("{}", pid)
                                  : fmt::format("{} ({})", row.process_name, pid);
}

struct Totals {
  std::uint64_t calls = 0, errors = 0, ns = 0, unended = 0;
  std::set<ProcessId> processes{};
};
Totals totals_of(const std::vector<SyscallRow>& rows) {
  Totals all;
  for (const auto& row : rows) {
    all.calls += row.count;
    all.errors += row.errors;
    all.ns += row.ns;
    all.unended += row.unended;
    all.processes.insert(row.process);
  }
  return all;
}

struct SyscallError {
  std::string name{};
  int number = 0;
  std::uint64_t count = 0;
};
const Shape& shape_of(const SyscallError*) {
  using E = SyscallError;
  static const auto shape = describe<E>(
      "SyscallError", "calls that failed with one error",
      {member<&E::name>("errno", "name of the error"), member<&E::number>("number", "errno"),
       member<&E::count>("count", "calls that failed with it")});
  return shape;
}

struct SyscallStack {
  Place place{};
  std::uint64_t count = 0;
  std::chrono::nanoseconds total{};
  std::vector<Place> frames{};
};
const Shape& shape_of(const SyscallStack*) {
  using S = SyscallStack;
  static const auto shape = describe<S>(
      "SyscallStack", "place that made system calls",
      {members_of<&S::place>(), member<&S::count>("count", "number of calls"),
       member<&S::total>("totalMs", "total time in them"),
       member<&S::frames>("frames", "stack with the most time, innermost frame first")});
  return shape;
}

struct SyscallTimes {
  ProcessId pid{};
  std::string process{};
  std::string syscall{};
  std::uint64_t count = 0;
  std::uint64_t errors = 0;
  std::uint64_t unfinished = 0;
  std::chrono::nanoseconds total{};
  std::chrono::nanoseconds mean{};
  std::chrono::nanoseconds longest{};
  std::vector<SyscallError> by_errno{};
  std::vector<SyscallStack> stacks{};
};
const Shape& shape_of(const SyscallTimes*) {
  using T = SyscallTimes;
  static const auto shape = describe<T>(
      "SyscallTimes", "one system call of one process",
      {member<&T::pid>("pid", "process id"), member<&T::process>("process", "process name"),
       member<&T::syscall>("syscall", "name of the system call"),
       member<&T::count>("count", "number of calls"),
       member<&T::errors>("errors", "calls that failed"),
       member<&T::unfinished>("unfinished", "calls that had not returned when the trace ended"),
       member<&T::total>("totalMs", "total time in the call"),
       member<&T::mean>("meanMs", "mean time of one call"),
       member<&T::longest>("longestMs", "longest call"),
       member<&T::by_errno>("byErrno", "failed calls by error"),
       member<&T::stacks>("stacks", "places that called it, most time first")});
  return shape;
}

struct SyscallsAnswer {
  std::uint64_t calls = 0;
  std::uint64_t errors = 0;
  std::uint64_t unfinished = 0;
  std::chrono::nanoseconds total{};
  std::vector<SyscallTimes> syscalls{};
};
const Shape& shape_of(const SyscallsAnswer*) {
  using A = SyscallsAnswer;
  static const auto shape = describe<A>(
      "SyscallsReport", "system calls",
      {member<&A::calls>("calls", "number of calls"),
       member<&A::errors>("errors", "calls that failed"),
       member<&A::unfinished>("unfinished", "calls that had not returned when the trace ended"),
       member<&A::total>("totalMs", "total time in calls, over all threads"),
       member<&A::syscalls>("syscalls", "calls by process and name, most time first")});
  return shape;
}

class SyscallsReport final : public ReportOf<SyscallsAnswer> {
 public:
  explicit SyscallsReport(const ReportOptions& options) : options_(options) {}

  void on_batch(const nettrace::Reader& reader, const nettrace::Batch& batch) override {
    calls_.on_batch(reader, batch);
  }
  void end_of_trace(const nettrace::Reader& reader) override { calls_.end_of_trace(reader); }

  SyscallsAnswer result() const override;
  Document page() const override;

 private:
  SyscallTimes times_of(const SyscallRow& row) const;
  DocumentTable calls_table(bool one_process) const;
  DocumentTable places_table() const;
  DocumentTable errors_table() const;

  ReportOptions options_;
  Syscalls calls_;
};

SyscallTimes SyscallsReport::times_of(const SyscallRow& row) const {
  SyscallTimes times{.pid = row.process,
                     .process = row.process_name,
                     .syscall = row.name,
                     .count = row.count,
                     .errors = row.errors,
                     .unfinished = row.unended,
                     .total = time_of(row.ns),
                     .mean = time_of(mean_ns(row)),
                     .longest = time_of(row.longest_ns)};
  for (const auto& [number, count] : row.by_errno)
    times.by_errno.push_back({errno_name(number), number, count});
  for (std::size_t i = 0; i < std::min(row.places.size(), kPlacesInJson); ++i) {
    const auto& place = row.places[i];
    auto& stack = times.stacks.emplace_back(
        SyscallStack{place_of(calls_.frame(place.site)), place.count, time_of(place.ns)});
    for (const auto frame : place.frames) stack.frames.push_back(place_of(calls_.frame(frame)));
  }
  return times;
}

SyscallsAnswer SyscallsReport::result() const {
  const auto all = totals_of(calls_.rows());
  SyscallsAnswer answer{.calls = all.calls,
                        .errors = all.errors,
                        .unfinished = all.unended,
                        .total = time_of(all.ns)};
  for (const auto& row : calls_.rows()) answer.syscalls.push_back(times_of(row));
  return answer;
}

DocumentTable SyscallsReport::calls_table(bool one_process) const {
  const auto& rows = calls_.rows();
  const auto shown = std::min(rows.size(), options_.rows != 0 ? options_.rows : 20);
  DocumentTable table{.columns = {">TOTAL", ">CALLS", ">MEAN", ">LONGEST", ">FAILED", "CALL"}};
  if (!one_process) table.columns.push_back("PROCESS");
  for (std::size_t i = 0; i < shown; ++i) {
    const auto& row = rows[i];
    table.rows.push_back({format_duration(time_of(row.ns)), count_text(row.count),
                          format_duration(time_of(mean_ns(row))),
                          format_duration(time_of(row.longest_ns)), count_text(row.errors),
                          row.name});
    if (!one_process) table.rows.back().push_back(process_text(row));
  }
  if (shown < rows.size())
    table.note = fmt::format("{} more: -n {}", rows.size() - shown, rows.size());
  return table;
}

DocumentTable SyscallsReport::places_table() const {
  std::vector<std::pair<const SyscallRow*, const SyscallPlace*>> places;
  for (const auto& row : calls_.rows())
    for (const auto& place : row.places) places.emplace_back(&row, &place);
  std::ranges::stable_sort(
      places, [](const auto& a, const auto& b) { return a.second->ns > b.second->ns; });
  const auto shown = std::min(places.size(), options_.rows != 0 ? options_.rows : 10);
  DocumentTable table{
      .title = "From where", .columns = {">TOTAL", ">CALLS", "CALL", "METHOD"}, .keeps = "METHOD"};
  for (std::size_t i = 0; i < shown; ++i) {
    const auto& [row, place] = places[i];
    table.rows.push_back({format_duration(time_of(place->ns)), count_text(place->count), row->name,
                          calls_.frame(place->site).method});
  }
  if (shown < places.size())
    table.note = fmt::format("{} more: -n {}", places.size() - shown, places.size());
  return table;
}

DocumentTable SyscallsReport::errors_table() const {
  struct Failed {
    const SyscallRow* row;
    int number;
    std::uint64_t count;
  };
  std::vector<Failed> failed;
  for (const auto& row : calls_.rows())
    for (const auto& [number, count] : row.by_errno) failed.push_back({&row, number, count});
  std::ranges::stable_sort(failed, std::greater{}, &Failed::count);
  const auto shown = std::min(failed.size(), options_.rows != 0 ? options_.rows : 10);
  DocumentTable table{.title = "Failed", .columns = {">COUNT", "ERROR", "CALL", "PROCESS"}};
  for (std::size_t i = 0; i < shown; ++i)
    table.rows.push_back({count_text(failed[i].count), errno_name(failed[i].number),
                          failed[i].row->name, process_text(*failed[i].row)});
  if (shown < failed.size())
    table.note = fmt::format("{} more: -n {}", failed.size() - shown, failed.size());
  return table;
}

Document SyscallsReport::page() const {
  if (calls_.rows().empty())
    return {
        .summary = {"No system calls in this trace."},
        .next =
            "Record them: clrscope collect -p PID --perf-events syscalls (or -a for the machine)"};
  const auto all = totals_of(calls_.rows());
  Document page;
  page.summary.push_back(fmt::format(
      "{} of {}, {} in total over all threads; {} failed.", counted(all.calls, "system call"),
      all.processes.size() == 1 ? process_text(calls_.rows().front())
                                : fmt::format("{} processes", all.processes.size()),
      format_duration(time_of(all.ns)), count_text(all.errors)));
  page.tables.push_back(calls_table(all.processes.size() == 1));
  page.tables.push_back(places_table());
  if (all.errors > 0) page.tables.push_back(errors_table());
  if (all.unended > 0)
    page.tables.back().note +=
        fmt::format("{}{} had not returned when the recording ended; their time is not counted.",
                    page.tables.back().note.empty() ? "" : "\n", count_text(all.unended));
  return page;
}

}  // namespace

extern const ReportKind syscalls_report = report_kind<SyscallsReport>(
    "syscalls", "system calls: how many, how long, what failed, from where");

}  // namespace clrscope::analyze
