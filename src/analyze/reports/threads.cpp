// What each thread did: on a processor, waiting, and for what.
#include <fmt/format.h>

#include <algorithm>

#include "analyze/report.h"
#include "analyze/waits.h"
#include "analyze/words.h"

namespace clrscope::analyze {
namespace {

class Threads final : public Report {
 public:
  explicit Threads(const ReportOptions& options) : options_(options) {}

  void on_batch(const nettrace::Reader& reader, const nettrace::Batch& batch) override {
    waits_.on_batch(reader, batch);
  }
  void end_of_trace(const nettrace::Reader& reader) override { waits_.end_of_trace(reader); }

  void write_members(JsonWriter& json) const override;
  Page page() const override;

 private:
  std::vector<std::size_t> ranked() const;
  std::chrono::nanoseconds cpu(std::size_t i) const {
    return std::chrono::nanoseconds{static_cast<std::int64_t>(waits_.by_thread()[i].cpu.ns)};
  }
  std::chrono::nanoseconds off(std::size_t i) const {
    return std::chrono::nanoseconds{static_cast<std::int64_t>(waits_.by_thread()[i].waits.ns)};
  }
  // What it waited for the longest time, in all.
  WaitReason mostly(std::size_t i) const {
    const auto& all = waits_.by_thread()[i].ns_by_reason;
    return WaitReason{
        static_cast<std::uint8_t>(std::max_element(all.begin(), all.end()) - all.begin())};
  }
  bool timed() const { return waits_.source().period().count() > 0; }

  ReportOptions options_;
  Waits waits_;
};

std::vector<std::size_t> Threads::ranked() const {
  std::vector<std::size_t> all;
  for (std::size_t i = 0; i < waits_.by_thread().size(); ++i)
    if (waits_.by_thread()[i].cpu.count + waits_.by_thread()[i].waits.count > 0) all.push_back(i);
  std::stable_sort(all.begin(), all.end(), [&](std::size_t a, std::size_t b) {
    const auto key = [&](std::size_t i) {
      return std::pair{waits_.by_thread()[i].cpu.ns, waits_.by_thread()[i].waits.ns};
    };
    return key(a) > key(b);
  });
  return all;
}

void Threads::write_members(JsonWriter& json) const {
  json.member("samples", waits_.source().cpu_samples())
      .member("switches", waits_.source().switches())
      .member("durationMs", waits_.source().span().seconds() * 1000);
  json.key("threads").begin_array();
  for (const auto i : ranked()) {
    const auto& who = waits_.threads()[i];
    const auto& times = waits_.by_thread()[i];
    json.begin_object()
        .member("processId", static_cast<std::int32_t>(who.process))
        .member("process", who.process_name)
        .member("threadId", static_cast<std::uint64_t>(who.thread))
        .member("name", who.name)
        .member("samples", times.cpu.count);
    if (timed()) json.member("cpuMs", ms(cpu(i)));
    json.member("waits", times.waits.count).member("waitingMs", ms(off(i)));
    json.key("waitingMsByReason").begin_object();
    for (std::uint8_t r = 0; r < kWaitReasons; ++r)
      if (const auto ns = times.ns_by_reason[r]; ns > 0)
        json.member(to_string(WaitReason{r}),
                    ms(std::chrono::nanoseconds{static_cast<std::int64_t>(ns)}));
    json.end_object().end_object();
  }
  json.end_array();
}

Page Threads::page() const {
  const auto all = ranked();
  if (all.empty())
    return {.summary = {"Neither processor samples nor context switches in this trace."},
            .next = "Record some: clrscope collect -p PID --profile cpu-sampling,thread-time"};
  const bool switches = waits_.source().switches() > 0;
  Page page;
  page.summary.push_back(fmt::format("{} threads in {:.1f} s: {} processor samples, {} waits.",
                                     count_text(all.size()), waits_.source().span().seconds(),
                                     count_text(waits_.source().cpu_samples()),
                                     count_text(waits_.all().count)));
  if (!switches)
    page.summary.emplace_back(
        "Waiting was not recorded: clrscope collect --profile thread-time does it.");
  PageTable table{.columns = {timed() ? ">CPU" : ">SAMPLES", ">WAITING", ">WAITS", "MOSTLY FOR",
                              ">THREAD", "NAME", "PROCESS"}};
  const auto rows = std::min(all.size(), options_.rows != 0 ? options_.rows : 30);
  for (std::size_t n = 0; n < rows; ++n) {
    const auto i = all[n];
    const auto& who = waits_.threads()[i];
    const auto& times = waits_.by_thread()[i];
    const bool waited = times.waits.count > 0;
    table.rows.push_back({timed() ? ms_text(cpu(i)) : count_text(times.cpu.count),
                          switches ? ms_text(off(i)) : "?",
                          switches ? count_text(times.waits.count) : "?",
                          waited ? std::string{words_for(mostly(i))} : "",
                          fmt::format("{}", static_cast<std::uint64_t>(who.thread)),
                          who.name.empty() ? "?" : who.name, process_text(who)});
  }
  if (rows < all.size()) table.note = fmt::format("{} more: -n {}", all.size() - rows, all.size());
  page.tables.push_back(std::move(table));
  return page;
}

}  // namespace

extern const ReportKind threads_report{
    .name = "threads",
    .summary = "what each thread did: processor time, waiting, and for what",
    .make = [](const ReportOptions& options) -> std::unique_ptr<Report> {
      return std::make_unique<Threads>(options);
    },
};

}  // namespace clrscope::analyze
