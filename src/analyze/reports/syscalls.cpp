// System calls by process: how many, how long, what failed, from where.
#include "analyze/syscalls.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "analyze/report.h"
#include "analyze/words.h"

namespace clrscope::analyze {
namespace {

constexpr std::size_t kPlacesInJson = 10;

std::chrono::nanoseconds time_of(std::uint64_t ns) {
  return std::chrono::nanoseconds{static_cast<std::int64_t>(ns)};
}
std::uint64_t mean_ns(const SyscallRow& row) { return row.timed == 0 ? 0 : row.ns / row.timed; }
std::string us_text(std::uint64_t ns) {
  return fmt::format("{:.1f} µs", static_cast<double>(ns) / 1000);
}
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

class SyscallsReport final : public Report {
 public:
  explicit SyscallsReport(const ReportOptions& options) : options_(options) {}

  void on_batch(const nettrace::Reader& reader, const nettrace::Batch& batch) override {
    calls_.on_batch(reader, batch);
  }
  void end_of_trace(const nettrace::Reader& reader) override { calls_.end_of_trace(reader); }

  void write_members(JsonWriter& json) const override;
  Page page() const override;

 private:
  void write_row(JsonWriter& json, const SyscallRow& row) const;
  PageTable calls_table(bool one_process) const;
  PageTable places_table() const;
  PageTable errors_table() const;

  ReportOptions options_;
  Syscalls calls_;
};

void SyscallsReport::write_row(JsonWriter& json, const SyscallRow& row) const {
  json.begin_object()
      .member("processId", static_cast<std::int32_t>(row.process))
      .member("process", row.process_name)
      .member("syscall", row.name)
      .member("count", row.count)
      .member("errors", row.errors)
      .member("unended", row.unended)
      .member("totalMs", ms(time_of(row.ns)))
      .member("meanUs", static_cast<double>(mean_ns(row)) / 1000)
      .member("maxMs", ms(time_of(row.longest_ns)));
  json.key("byErrno").begin_array();
  for (const auto& [number, count] : row.by_errno)
    json.begin_object()
        .member("errno", errno_name(number))
        .member("number", number)
        .member("count", count)
        .end_object();
  json.end_array().key("stacks").begin_array();
  for (std::size_t i = 0; i < std::min(row.places.size(), kPlacesInJson); ++i) {
    const auto& place = row.places[i];
    json.begin_object()
        .member("method", calls_.frame(place.site).method)
        .member("module", calls_.frame(place.site).module)
        .member("count", place.count)
        .member("totalMs", ms(time_of(place.ns)))
        .key("frames")
        .begin_array();
    for (const auto frame : place.frames) json.value(calls_.frame(frame).method);
    json.end_array().end_object();
  }
  json.end_array().end_object();
}

void SyscallsReport::write_members(JsonWriter& json) const {
  const auto all = totals_of(calls_.rows());
  json.member("calls", all.calls)
      .member("errors", all.errors)
      .member("unended", all.unended)
      .member("totalMs", ms(time_of(all.ns)));
  json.key("syscalls").begin_array();
  for (const auto& row : calls_.rows()) write_row(json, row);
  json.end_array();
}

PageTable SyscallsReport::calls_table(bool one_process) const {
  const auto& rows = calls_.rows();
  const auto shown = std::min(rows.size(), options_.rows != 0 ? options_.rows : 20);
  PageTable table{.columns = {">TOTAL", ">CALLS", ">MEAN", ">LONGEST", ">FAILED", "CALL"}};
  if (!one_process) table.columns.push_back("PROCESS");
  for (std::size_t i = 0; i < shown; ++i) {
    const auto& row = rows[i];
    table.rows.push_back({ms_text(time_of(row.ns)), count_text(row.count), us_text(mean_ns(row)),
                          ms_text(time_of(row.longest_ns)), count_text(row.errors), row.name});
    if (!one_process) table.rows.back().push_back(process_text(row));
  }
  if (shown < rows.size())
    table.note = fmt::format("{} more: -n {}", rows.size() - shown, rows.size());
  return table;
}

PageTable SyscallsReport::places_table() const {
  std::vector<std::pair<const SyscallRow*, const SyscallPlace*>> places;
  for (const auto& row : calls_.rows())
    for (const auto& place : row.places) places.emplace_back(&row, &place);
  std::ranges::stable_sort(
      places, [](const auto& a, const auto& b) { return a.second->ns > b.second->ns; });
  const auto shown = std::min(places.size(), options_.rows != 0 ? options_.rows : 10);
  PageTable table{.title = "From where", .columns = {">TOTAL", ">CALLS", "CALL", "METHOD"}};
  for (std::size_t i = 0; i < shown; ++i) {
    const auto& [row, place] = places[i];
    table.rows.push_back({ms_text(time_of(place->ns)), count_text(place->count), row->name,
                          calls_.frame(place->site).method});
  }
  if (shown < places.size())
    table.note = fmt::format("{} more: -n {}", places.size() - shown, places.size());
  return table;
}

PageTable SyscallsReport::errors_table() const {
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
  PageTable table{.title = "Failed", .columns = {">COUNT", "ERROR", "CALL", "PROCESS"}};
  for (std::size_t i = 0; i < shown; ++i)
    table.rows.push_back({count_text(failed[i].count), errno_name(failed[i].number),
                          failed[i].row->name, process_text(*failed[i].row)});
  if (shown < failed.size())
    table.note = fmt::format("{} more: -n {}", failed.size() - shown, failed.size());
  return table;
}

Page SyscallsReport::page() const {
  if (calls_.rows().empty())
    return {
        .summary = {"No system calls in this trace."},
        .next =
            "Record them: clrscope collect -p PID --perf-events syscalls (or -a for the machine)"};
  const auto all = totals_of(calls_.rows());
  Page page;
  page.summary.push_back(fmt::format(
      "{} of {}, {} in them over all threads; {} failed.", counted(all.calls, "system call"),
      all.processes.size() == 1 ? process_text(calls_.rows().front())
                                : fmt::format("{} processes", all.processes.size()),
      format_duration(time_of(all.ns)), count_text(all.errors)));
  page.tables.push_back(calls_table(all.processes.size() == 1));
  page.tables.push_back(places_table());
  if (all.errors > 0) page.tables.push_back(errors_table());
  if (all.unended > 0)
    page.tables.back().note +=
        fmt::format("{}{} had not returned when the recording ended, and count without their time.",
                    page.tables.back().note.empty() ? "" : "\n", count_text(all.unended));
  return page;
}

}  // namespace

extern const ReportKind syscalls_report{
    .name = "syscalls",
    .summary = "system calls: how many, how long, what failed, from where",
    .make = [](const ReportOptions& options) -> std::unique_ptr<Report> {
      return std::make_unique<SyscallsReport>(options);
    },
};

}  // namespace clrscope::analyze
