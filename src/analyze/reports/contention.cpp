// Waits for locks: where, how long, for whom.
#include <fmt/format.h>

#include <algorithm>

#include "analyze/by_process.h"
#include "analyze/contention.h"
#include "analyze/report.h"
#include "analyze/words.h"

namespace clrscope::analyze {
namespace {

class ContentionReport final : public Report {
 public:
  explicit ContentionReport(const ReportOptions& options) : options_(options) {}

  void on_batch(const nettrace::Reader& reader, const nettrace::Batch& batch) override {
    waits_.on_batch(reader, batch);
    by_process_.on_batch(batch, {nettrace::Known::kContentionStart});
  }
  void end_of_trace(const nettrace::Reader& reader) override {
    waits_.end_of_trace(reader);
    by_process_.end_of_trace();
  }

  void write_members(JsonWriter& json) const override;
  Page page() const override;

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

void ContentionReport::write_members(JsonWriter& json) const {
  json.member("contentions", all())
      .member("onlyCounted", waits_.only_counted().count())
      .member("unfinished", waits_.all().unfinished)
      .member("totalMs", ms(waits_.all().total))
      .member("longestMs", ms(waits_.all().longest))
      .member("ratePerSecond", rate())
      .member("locks", waits_.locks())
      .member("durationMs", ms(waits_.span().length()))
      .key("sites")
      .begin_array();
  for (const auto* one : waits_.sites()) {
    const auto& [site, waits] = *one;
    json.begin_object()
        .member("method", waits_.frame(site).method)
        .member("module", waits_.frame(site).module)
        .member("count", waits.count)
        .member("unfinished", waits.unfinished)
        .member("totalMs", ms(waits.total))
        .member("longestMs", ms(waits.longest))
        .key("owners")
        .begin_array();
    for (const auto& [owner, times] : waits.owners)
      json.begin_object().member("threadId", owner).member("count", times).end_object();
    json.end_array().end_object();
  }
  json.end_array();
  by_process_.write_member(json);
}

Page ContentionReport::page() const {
  if (waits_.all().count == 0)
    return {.summary = {"No thread waited for a lock in this trace, or it was not recorded."},
            .next = "Record it: clrscope collect -p PID --clrevents contention"};
  Page page;
  page.summary.push_back(
      fmt::format("{} wait{} for locks in {:.1f} s: {:.1f} ms in all, longest {}.",
                  count_text(all()), all() == 1 ? "" : "s", waits_.span().seconds(),
                  ms(waits_.all().total), ms_text(waits_.all().longest)));
  if (const auto recorded = waits_.only_counted().recorded())
    page.summary.push_back(fmt::format(
        "Times and places are of the first {} ({} waits); then they were only counted, since so "
        "many events would have cost the program too much.",
        ms_text(*recorded), count_text(waits_.all().count)));
  if (waits_.all().unfinished > 0)
    page.summary.push_back(fmt::format("{} thread{} still waited when the trace ended.",
                                       count_text(waits_.all().unfinished),
                                       waits_.all().unfinished == 1 ? "" : "s"));
  PageTable table{.columns = {">COUNT", ">UNFINISHED", ">WAITED", ">MEAN", ">LONGEST", ">HELD BY",
                              "WAITING IN"}};
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
    table.rows.push_back(
        {count_text(waits.count), waits.unfinished > 0 ? count_text(waits.unfinished) : "",
         ms_text(waits.total), ms_text(waits.total / static_cast<std::int64_t>(waits.count)),
         ms_text(waits.longest), held, waits_.frame(site).method});
  }
  if (rows < sites.size())
    table.note = fmt::format("{} more places: -n {}", sites.size() - rows, sites.size());
  page.tables.push_back(std::move(table));
  by_process_.add_table(page, "WAITS");
  return page;
}

}  // namespace

extern const ReportKind contention_report{
    .name = "contention",
    .summary = "waits for locks: where, how long, for whom",
    .make = [](const ReportOptions& options) -> std::unique_ptr<Report> {
      return std::make_unique<ContentionReport>(options);
    },
};

}  // namespace clrscope::analyze
