// Waits for locks: where, how long, for whom.
#include <fmt/format.h>

#include <algorithm>

#include "analyze/by_process.h"
#include "analyze/contention.h"
#include "analyze/report.h"
#include "analyze/words.h"

namespace clrscope::analyze {
namespace {

struct LockOwner {
  std::uint64_t thread = 0;
  std::uint64_t count = 0;
};
const Shape& shape_of(const LockOwner*) {
  static const auto shape = describe<LockOwner>(
      "LockOwner", "thread that held a lock others waited for",
      {member<&LockOwner::thread>("osId", "operating system's thread id"),
       member<&LockOwner::count>("count", "waits during which it held the lock")});
  return shape;
}

struct LockSite {
  Place place{};
  Times times{};
  std::vector<LockOwner> owners{};
};
const Shape& shape_of(const LockSite*) {
  static const auto shape =
      describe<LockSite>("LockSite", "place where threads waited for a lock",
                         {members_of<&LockSite::place>(), members_of<&LockSite::times>(),
                          member<&LockSite::owners>("owners", "threads that held the lock")});
  return shape;
}

struct ContentionAnswer {
  std::uint64_t contentions = 0;
  std::uint64_t only_counted = 0;
  std::uint64_t unfinished = 0;
  std::chrono::nanoseconds total{};
  std::chrono::nanoseconds longest{};
  double rate = 0;
  std::uint64_t locks = 0;
  std::chrono::nanoseconds duration{};
  std::vector<LockSite> sites{};
  std::vector<ProcessCount> by_process{};
};
const Shape& shape_of(const ContentionAnswer*) {
  using A = ContentionAnswer;
  static const auto shape = describe<A>(
      "ContentionReport", "waits for locks",
      {member<&A::contentions>("contentions", "number of waits"),
       member<&A::only_counted>("onlyCounted", "waits recorded without time and place"),
       member<&A::unfinished>("unfinished", "waits that had not ended when the trace ended"),
       member<&A::total>("totalMs", "total time waited, over all threads"),
       member<&A::longest>("longestMs", "longest wait"),
       member<&A::rate>("ratePerSecond", Unit::kPerSecond, "waits per second"),
       member<&A::locks>("locks", "number of different locks"),
       member<&A::duration>("durationMs", "duration of the trace"),
       member<&A::sites>("sites", "places that waited, longest total time first"),
       member<&A::by_process>("byProcess", "recorded waits of each process")});
  return shape;
}

class ContentionReport final : public ReportOf<ContentionAnswer> {
 public:
  explicit ContentionReport(const ReportOptions& options)
      : options_(options), waits_(options.line_at) {}

  void on_batch(const nettrace::Reader& reader, const nettrace::Batch& batch) override {
    waits_.on_batch(reader, batch);
    by_process_.on_batch(batch, {nettrace::Known::kContentionStart});
  }
  void end_of_trace(const nettrace::Reader& reader) override {
    waits_.end_of_trace(reader);
    by_process_.end_of_trace();
  }

  ContentionAnswer result() const override;
  Document page() const override;

 private:
  double rate() const {
    const auto length = waits_.only_counted().counted_for().value_or(waits_.span().length());
    const auto seconds = std::chrono::duration<double>{length}.count();
    return seconds > 0 ? static_cast<double>(all()) / seconds : 0;
  }

  std::uint64_t all() const { return waits_.all().count + waits_.only_counted().count(); }

  ReportOptions options_;
  Contention waits_;
  ByProcess by_process_;
};

ContentionAnswer ContentionReport::result() const {
  ContentionAnswer answer{.contentions = all(),
                          .only_counted = waits_.only_counted().count(),
                          .unfinished = waits_.all().unfinished,
                          .total = waits_.all().total,
                          .longest = waits_.all().longest,
                          .rate = rate(),
                          .locks = waits_.locks(),
                          .duration = waits_.span().length(),
                          .by_process = by_process_.all()};
  for (const auto* one : waits_.sites()) {
    const auto& [site, waits] = *one;
    auto& place = answer.sites.emplace_back(LockSite{place_of(waits_.frame(site)), waits});
    for (const auto& [owner, count] : waits.owners) place.owners.push_back({owner, count});
  }
  return answer;
}

Document ContentionReport::page() const {
  if (waits_.all().count == 0)
    return {.summary = {"No thread waited for a lock in this trace, or it was not recorded.",
                        "Waits that began before the recording are not in it: clrscope stacks "
                        "shows who waits now."},
            .next = "Record it: clrscope collect -p PID --clrevents contention"};
  Document page;
  page.summary.push_back(
      fmt::format("{} wait{} for locks in {}: {} in total, longest {}.", count_text(all()),
                  all() == 1 ? "" : "s", format_duration(waits_.span().length()),
                  format_duration(waits_.all().total), format_duration(waits_.all().longest)));
  if (const auto recorded = waits_.only_counted().recorded())
    page.summary.push_back(
        fmt::format("Times and places cover the first {} only ({} waits); after that, waits were "
                    "counted but not recorded, to limit the overhead.",
                    format_duration(*recorded), count_text(waits_.all().count)));
  if (waits_.all().unfinished > 0)
    page.summary.push_back(fmt::format("{} thread{} still waiting when the trace ended.",
                                       count_text(waits_.all().unfinished),
                                       waits_.all().unfinished == 1 ? "" : "s"));
  DocumentTable table{.columns = {">COUNT", ">UNFINISHED", ">WAITED", ">MEAN", ">LONGEST",
                                  ">HELD BY", "WAITING IN"}};
  const auto sites = waits_.sites();
  const auto rows = std::min(sites.size(), options_.rows != 0 ? options_.rows : 20);
  for (std::size_t i = 0; i < rows; ++i) {
    const auto& [site, waits] = *sites[i];
    const auto owner =
        std::max_element(waits.owners.begin(), waits.owners.end(),
                         [](const auto& a, const auto& b) { return a.second < b.second; });
    std::string held = "?";
    if (owner != waits.owners.end())
      held = waits.owners.size() == 1
                 ? fmt::format("{}", owner->first)
                 : fmt::format("{} + {}", owner->first, waits.owners.size() - 1);
    table.rows.push_back({count_text(waits.count),
                          waits.unfinished > 0 ? count_text(waits.unfinished) : "",
                          format_duration(waits.total), format_duration(waits.mean()),
                          format_duration(waits.longest), held, site_text(waits_.frame(site))});
  }
  if (rows < sites.size())
    table.note = fmt::format("{} more places: -n {}", sites.size() - rows, sites.size());
  page.tables.push_back(std::move(table));
  by_process_.add_table(page, "WAITS");
  return page;
}

}  // namespace

extern const ReportKind contention_report =
    report_kind<ContentionReport>("contention", "lock waits: where, how long, who held the lock");

}  // namespace clrscope::analyze
