// Exceptions by type, and where they are thrown.
#include <fmt/format.h>

#include <algorithm>

#include "analyze/by_process.h"
#include "analyze/exceptions.h"
#include "analyze/parts.h"
#include "analyze/report.h"
#include "analyze/words.h"

namespace clrscope::analyze {
namespace {

constexpr std::size_t kSitesShown = 3;  // of a type, as text

struct ExceptionSite {
  Place place{};
  std::uint64_t count = 0;
};
const Shape& shape_of(const ExceptionSite*) {
  static const auto shape =
      describe<ExceptionSite>("ExceptionSite", "place that throws exceptions of a type",
                              {members_of<&ExceptionSite::place>(),
                               member<&ExceptionSite::count>("count", "exceptions thrown here")});
  return shape;
}

struct ExceptionType {
  std::string type{};
  std::uint64_t count = 0;
  std::uint64_t rethrown = 0;
  double percent = 0;
  double rate = 0;
  std::string message{};
  std::string hresult{};
  std::vector<ExceptionSite> sites{};
};
const Shape& shape_of(const ExceptionType*) {
  using T = ExceptionType;
  static const auto shape = describe<T>(
      "ExceptionType", "exceptions of one type",
      {member<&T::type>("type", "full name of the type"),
       member<&T::count>("count", "exceptions recorded"),
       member<&T::rethrown>("rethrown", "those that were thrown again"),
       member<&T::percent>("percent", Unit::kPercent, "share of all exceptions recorded"),
       member<&T::rate>("ratePerSecond", Unit::kPerSecond, "exceptions per second"),
       member<&T::message>("message", "message of the first one; empty if hidden"),
       member<&T::hresult>("hresult", "HRESULT of the first one, in hexadecimal"),
       member<&T::sites>("sites", "places that throw them, most first")});
  return shape;
}

struct ExceptionsAnswer {
  std::uint64_t exceptions = 0;
  std::uint64_t only_counted = 0;
  double rate = 0;
  std::chrono::nanoseconds duration{};
  std::vector<ExceptionType> by_type{};
  std::vector<ProcessCount> by_process{};
};
const Shape& shape_of(const ExceptionsAnswer*) {
  using A = ExceptionsAnswer;
  static const auto shape = describe<A>(
      "ExceptionsReport", "exceptions by type and place",
      {member<&A::exceptions>("exceptions", "number of exceptions thrown"),
       member<&A::only_counted>("onlyCounted", "exceptions recorded without type and stack"),
       member<&A::rate>("ratePerSecond", Unit::kPerSecond, "exceptions per second"),
       member<&A::duration>("durationMs", "duration of the trace"),
       member<&A::by_type>("byType", "types, most frequent first"),
       member<&A::by_process>("byProcess", "recorded exceptions of each process")});
  return shape;
}

class ExceptionsReport final : public ReportOf<ExceptionsAnswer> {
 public:
  explicit ExceptionsReport(const ReportOptions& options)
      : options_(options), thrown_(options.line_at) {}

  void on_batch(const nettrace::Reader& reader, const nettrace::Batch& batch) override {
    thrown_.on_batch(reader, batch);
    by_process_.on_batch(batch, {nettrace::Known::kException});
  }
  void end_of_trace(const nettrace::Reader& reader) override {
    thrown_.end_of_trace(reader);
    by_process_.end_of_trace();
  }

  ExceptionsAnswer result() const override;
  Document page() const override;

 private:
  ReportOptions options_;
  Exceptions thrown_;
  ByProcess by_process_;
};

ExceptionsAnswer ExceptionsReport::result() const {
  ExceptionsAnswer answer{.exceptions = thrown_.all(),
                          .only_counted = thrown_.only_counted().count(),
                          .rate = thrown_.rate(thrown_.total()),
                          .duration = thrown_.span().length(),
                          .by_process = by_process_.all()};
  for (const auto* one : thrown_.ranked()) {
    const auto& [name, type] = *one;
    auto& told = answer.by_type.emplace_back(
        ExceptionType{.type = name,
                      .count = type.count,
                      .rethrown = type.rethrown,
                      .percent = percent(type.count, thrown_.total()),
                      .rate = thrown_.rate(type.count),
                      .message = options_.messages ? type.message : "",
                      .hresult = fmt::format("0x{:08X}", type.hresult)});
    for (const auto& [site, count] : type.ranked_sites())
      told.sites.push_back({place_of(thrown_.frame(site)), count});
  }
  return answer;
}

Document ExceptionsReport::page() const {
  if (thrown_.total() == 0)
    return {.summary = {"No exception was thrown in this trace, or none was recorded."},
            .next = "Record them: clrscope collect -p PID --clrevents exception"};
  const auto types = thrown_.ranked();
  Document page;
  page.summary.push_back(
      fmt::format("{} exception{} of {} type{} in {}: {:.1f} a second.", count_text(thrown_.all()),
                  thrown_.all() == 1 ? "" : "s", types.size(), types.size() == 1 ? "" : "s",
                  format_duration(thrown_.length()), thrown_.rate(thrown_.total())));
  if (const auto recorded = thrown_.only_counted().recorded())
    page.summary.push_back(
        fmt::format("Recorded only in the first {} ({} of them, below); after that, exceptions "
                    "were counted but not recorded, to limit the overhead.",
                    format_duration(*recorded), count_text(thrown_.total())));
  DocumentTable table{.columns = {">COUNT", ">SHARE", "TYPE", "THROWN IN"}, .keeps = "THROWN IN"};
  const auto rows = std::min(types.size(), options_.rows != 0 ? options_.rows : 20);
  for (std::size_t i = 0; i < rows; ++i) {
    const auto& [name, type] = *types[i];
    const auto sites = type.ranked_sites();
    for (std::size_t s = 0; s < std::min(sites.size(), kSitesShown); ++s)
      table.rows.push_back(
          {s == 0 ? count_text(type.count) : "",
           s == 0 ? share_text(type.count, thrown_.total()) : "", s == 0 ? name : "",
           sites.size() == 1 ? site_text(thrown_.frame(sites[s].first))
                             : fmt::format("{} × {}", count_text(sites[s].second),
                                           site_text(thrown_.frame(sites[s].first)))});
  }
  if (rows < types.size())
    table.note = fmt::format("{} more types: -n {}", types.size() - rows, types.size());
  page.tables.push_back(std::move(table));
  by_process_.add_table(page, "COUNT");
  const auto& first = types.front()->second;
  if (options_.messages && !first.message.empty())
    page.summary.push_back(fmt::format("The most frequent says: {}", first.message));
  return page;
}

}  // namespace

extern const ReportKind exceptions_report =
    report_kind<ExceptionsReport>("exceptions", "exceptions by type and by the place that throws");

}  // namespace clrscope::analyze
