// Exceptions by type, and where they are thrown.
#include <fmt/format.h>

#include <algorithm>

#include "analyze/by_process.h"
#include "analyze/exceptions.h"
#include "analyze/report.h"
#include "analyze/words.h"

namespace clrscope::analyze {
namespace {

constexpr std::size_t kSitesShown = 3;  // of a type, as text

class ExceptionsReport final : public Report {
 public:
  explicit ExceptionsReport(const ReportOptions& options) : options_(options) {}

  void on_batch(const nettrace::Reader& reader, const nettrace::Batch& batch) override {
    thrown_.on_batch(reader, batch);
    by_process_.on_batch(batch, {nettrace::Known::kException});
  }
  void end_of_trace(const nettrace::Reader& reader) override {
    thrown_.end_of_trace(reader);
    by_process_.end_of_trace();
  }

  void write_members(JsonWriter& json) const override;
  Page page() const override;

 private:
  ReportOptions options_;
  Exceptions thrown_;
  ByProcess by_process_;
};

void ExceptionsReport::write_members(JsonWriter& json) const {
  json.member("exceptions", thrown_.all())
      .member("onlyCounted", thrown_.only_counted().count())
      .member("ratePerSecond", thrown_.rate(thrown_.total()))
      .member("durationMs", ms(thrown_.span().length()))
      .key("byType")
      .begin_array();
  for (const auto* one : thrown_.ranked()) {
    const auto& [name, type] = *one;
    json.begin_object()
        .member("type", name)
        .member("count", type.count)
        .member("rethrown", type.rethrown)
        .member("percent", percent(type.count, thrown_.total()))
        .member("ratePerSecond", thrown_.rate(type.count))
        .member("message", options_.messages ? type.message : "")
        .member("hresult", fmt::format("0x{:08X}", type.hresult))
        .key("sites")
        .begin_array();
    for (const auto& [site, count] : type.ranked_sites())
      json.begin_object()
          .member("method", thrown_.frame(site).method)
          .member("module", thrown_.frame(site).module)
          .member("count", count)
          .end_object();
    json.end_array().end_object();
  }
  json.end_array();
  by_process_.write_member(json);
}

Page ExceptionsReport::page() const {
  if (thrown_.total() == 0)
    return {.summary = {"No exception was thrown in this trace, or none was recorded."},
            .next = "Record them: clrscope collect -p PID --clrevents exception"};
  const auto types = thrown_.ranked();
  Page page;
  page.summary.push_back(fmt::format(
      "{} exception{} of {} type{} in {:.1f} s: {:.1f} a second.", count_text(thrown_.all()),
      thrown_.all() == 1 ? "" : "s", types.size(), types.size() == 1 ? "" : "s",
      std::chrono::duration<double>{thrown_.length()}.count(), thrown_.rate(thrown_.total())));
  if (const auto recorded = thrown_.only_counted().recorded())
    page.summary.push_back(fmt::format(
        "Recorded in the first {} ({} of them, below); then only counted, since so many "
        "events would have cost the program too much.",
        ms_text(*recorded), count_text(thrown_.total())));
  PageTable table{.columns = {">COUNT", ">SHARE", "TYPE", "THROWN IN"}};
  const auto rows = std::min(types.size(), options_.rows != 0 ? options_.rows : 20);
  for (std::size_t i = 0; i < rows; ++i) {
    const auto& [name, type] = *types[i];
    const auto sites = type.ranked_sites();
    for (std::size_t s = 0; s < std::min(sites.size(), kSitesShown); ++s)
      table.rows.push_back({s == 0 ? count_text(type.count) : "",
                            s == 0 ? share_text(type.count, thrown_.total()) : "",
                            s == 0 ? name : "",
                            sites.size() == 1 ? thrown_.frame(sites[s].first).method
                                              : fmt::format("{} × {}", count_text(sites[s].second),
                                                            thrown_.frame(sites[s].first).method)});
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

extern const ReportKind exceptions_report{
    .name = "exceptions",
    .summary = "exceptions by type and by the place that throws",
    .make = [](const ReportOptions& options) -> std::unique_ptr<Report> {
      return std::make_unique<ExceptionsReport>(options);
    },
};

}  // namespace clrscope::analyze
