// Where threads waited, by the kernel's switches.
#include "analyze/waits.h"

#include <fmt/format.h>

#include <algorithm>

#include "analyze/report.h"
#include "analyze/words.h"

namespace clrscope::analyze {
namespace {

std::chrono::nanoseconds time_of(std::uint64_t ns) {
  return std::chrono::nanoseconds{static_cast<std::int64_t>(ns)};
}

class WaitsReport final : public Report {
 public:
  explicit WaitsReport(const ReportOptions& options) : options_(options), waits_(options.lines) {}

  void on_batch(const nettrace::Reader& reader, const nettrace::Batch& batch) override {
    waits_.on_batch(reader, batch);
  }
  void end_of_trace(const nettrace::Reader& reader) override { waits_.end_of_trace(reader); }

  void write_members(JsonWriter& json) const override;
  Page page() const override;

 private:
  using SiteSum = std::pair<Waits::Site, WaitSum>;
  std::vector<SiteSum> sites() const;
  std::vector<WaitReason> reasons() const;
  std::vector<std::size_t> threads() const;

  ReportOptions options_;
  Waits waits_;
};

std::vector<WaitsReport::SiteSum> WaitsReport::sites() const {
  std::vector<SiteSum> all{waits_.by_site().begin(), waits_.by_site().end()};
  std::stable_sort(all.begin(), all.end(), [](const auto& a, const auto& b) {
    return std::pair{!is_idle(a.first.reason), a.second.ns} >
           std::pair{!is_idle(b.first.reason), b.second.ns};
  });
  return all;
}

std::vector<WaitReason> WaitsReport::reasons() const {
  std::vector<WaitReason> all;
  for (std::uint8_t i = 0; i < kWaitReasons; ++i)
    if (waits_.by_reason(WaitReason{i}).count > 0) all.push_back(WaitReason{i});
  std::stable_sort(all.begin(), all.end(), [&](WaitReason a, WaitReason b) {
    return std::pair{!is_idle(a), waits_.by_reason(a).ns} >
           std::pair{!is_idle(b), waits_.by_reason(b).ns};
  });
  return all;
}

std::vector<std::size_t> WaitsReport::threads() const {
  std::vector<std::size_t> all;
  for (std::size_t i = 0; i < waits_.by_thread().size(); ++i)
    if (waits_.by_thread()[i].waits.count > 0) all.push_back(i);
  std::stable_sort(all.begin(), all.end(), [&](std::size_t a, std::size_t b) {
    const auto &one = waits_.by_thread()[a], &other = waits_.by_thread()[b];
    return std::pair{one.busy_ns, one.waits.ns} > std::pair{other.busy_ns, other.waits.ns};
  });
  return all;
}

// A method says itself whose it is; "libc.so.6!send".
std::string where_text(const Frame& frame) {
  const bool native = frame.kind == FrameKind::kNative || frame.kind == FrameKind::kRuntime ||
                      frame.kind == FrameKind::kGc;
  if (!native || frame.module.empty() || frame.method.find('!') != std::string::npos)
    return frame.method;
  return fmt::format("{}!{}", frame.module, frame.method);
}

std::string unfinished_text(const WaitSum& sum) {
  return sum.unfinished > 0 ? count_text(sum.unfinished) : "";
}

void write_sum(JsonWriter& json, const WaitSum& sum) {
  json.member("count", sum.count)
      .member("totalMs", ms(time_of(sum.ns)))
      .member("longestMs", ms(time_of(sum.longest_ns)))
      .member("unfinished", sum.unfinished)
      .member("unfinishedMs", ms(time_of(sum.unfinished_ns)));
}

void WaitsReport::write_members(JsonWriter& json) const {
  json.member("waits", waits_.all().count)
      .member("totalMs", ms(time_of(waits_.all().ns)))
      .member("longestMs", ms(time_of(waits_.all().longest_ns)))
      .member("idleMs", ms(time_of(waits_.idle().ns)))
      .member("unfinished", waits_.all().unfinished)
      .member("unfinishedMs", ms(time_of(waits_.all().unfinished_ns)))
      .member("unexplainedMs", ms(time_of(waits_.unexplained().ns)));
  if (const auto& ended = waits_.source().waits_ended())
    json.member("recordedMs", ms(ended->recorded));
  json.key("byReason").begin_array();
  for (const auto reason : reasons()) {
    json.begin_object().member("reason", to_string(reason));
    write_sum(json, waits_.by_reason(reason));
    json.end_object();
  }
  json.end_array().key("sites").begin_array();
  for (const auto& [site, sum] : sites()) {
    const auto& frame = waits_.frame(site.frame);
    json.begin_object()
        .member("method", frame.method)
        .member("module", frame.module)
        .member("kind", to_string(frame.kind))
        .member("reason", to_string(site.reason));
    if (frame.line != 0) json.member("file", frame.file).member("line", frame.line);
    write_sum(json, sum);
    json.member("longestThreadId",
                static_cast<std::uint64_t>(waits_.threads()[sum.longest_thread].thread))
        .end_object();
  }
  json.end_array().key("byThread").begin_array();
  for (const auto i : threads()) {
    const auto& who = waits_.threads()[i];
    json.begin_object()
        .member("processId", static_cast<std::int32_t>(who.process))
        .member("threadId", static_cast<std::uint64_t>(who.thread))
        .member("name", who.name);
    write_sum(json, waits_.by_thread()[i].waits);
    json.end_object();
  }
  json.end_array();
}

Page WaitsReport::page() const {
  const auto& all = waits_.all();
  const auto& ended = waits_.source().waits_ended();
  if (all.count == 0)
    return {
        .summary = {ended ? fmt::format("No waits in this trace: with {} switches a second they "
                                        "would have cost too much.",
                                        count_text(ended->per_second))
                          : "No context switches in this trace."},
        .next =
            "Record some: clrscope collect -p PID --profile thread-time (or -a for the machine)"};
  Page page;
  const auto why = reasons();
  const auto& shown = waits_.busy().count > 0 ? waits_.busy() : all;
  const auto& longest = waits_.threads()[shown.longest_thread];
  page.summary.push_back(fmt::format(
      "{} waits, {} over all threads, most for: {} ({}). The longest took {}, in thread {}{}.",
      count_text(shown.count), format_duration(time_of(shown.ns)), words_for(why.front()),
      share_text(waits_.by_reason(why.front()).ns, shown.ns),
      format_duration(time_of(shown.longest_ns)), static_cast<std::uint64_t>(longest.thread),
      longest.name.empty() ? "" : fmt::format(" ({})", longest.name)));
  if (waits_.idle().count > 0 && waits_.busy().count > 0)
    page.summary.push_back(
        fmt::format("Idle threads of the pool and the runtime waited another {} (listed last).",
                    format_duration(time_of(waits_.idle().ns))));
  if (shown.unfinished > 0)
    page.summary.push_back(
        fmt::format("{} of them had not ended when the recording ended: {} until then.",
                    count_text(shown.unfinished), format_duration(time_of(shown.unfinished_ns))));
  if (const auto& dark = waits_.unexplained(); dark.count > 0)
    page.summary.push_back(
        fmt::format("{} of them ({}) have no stack: neither the kernel nor the runtime said where.",
                    count_text(dark.count), share_text(dark.ns, all.ns)));
  if (ended)
    page.summary.push_back(fmt::format(
        "Only of the first {} of {}: with {} switches a second waits would have cost "
        "too much. --profile thread-time records them all the same.",
        format_duration(ended->recorded), format_duration(waits_.source().span().length()),
        count_text(ended->per_second)));
  const auto rows = options_.rows != 0 ? options_.rows : 20;
  const auto few = options_.rows != 0 ? options_.rows : 10;

  PageTable places{.columns = {">TOTAL", ">WAITS", ">UNFINISHED", ">LONGEST", "FOR", "WHERE"}};
  if (options_.lines) places.columns.insert(places.columns.begin() + 5, "LINE");
  const auto all_sites = sites();
  for (std::size_t i = 0; i < std::min(rows, all_sites.size()); ++i) {
    const auto& [site, sum] = all_sites[i];
    const auto& frame = waits_.frame(site.frame);
    places.rows.push_back({ms_text(time_of(sum.ns)), count_text(sum.count), unfinished_text(sum),
                           ms_text(time_of(sum.longest_ns)), std::string{words_for(site.reason)},
                           where_text(frame)});
    auto& row = places.rows.back();
    if (options_.lines) row.insert(row.begin() + 5, place_text(frame));
  }
  places.note =
      "signal: of another thread; no processor: it could run, but none was free.\n"
      "Unfinished: had not ended when the recording ended; counted until then.";
  if (rows < all_sites.size())
    places.note += fmt::format(" {} more: -n {}", all_sites.size() - rows, all_sites.size());
  page.tables.push_back(std::move(places));

  PageTable by_reason{.title = "By reason", .columns = {">SHARE", ">TOTAL", ">WAITS", "FOR"}};
  for (const auto reason : why) {
    const auto& sum = waits_.by_reason(reason);
    by_reason.rows.push_back({share_text(sum.ns, all.ns), ms_text(time_of(sum.ns)),
                              count_text(sum.count), std::string{words_for(reason)}});
  }
  page.tables.push_back(std::move(by_reason));

  PageTable by_thread{
      .title = "By thread",
      .columns = {">TOTAL", ">WAITS", ">UNFINISHED", ">LONGEST", ">THREAD", "NAME", "PROCESS"}};
  const auto ids = threads();
  for (std::size_t i = 0; i < std::min(few, ids.size()); ++i) {
    const auto& who = waits_.threads()[ids[i]];
    const auto& sum = waits_.by_thread()[ids[i]].waits;
    by_thread.rows.push_back({ms_text(time_of(sum.ns)), count_text(sum.count), unfinished_text(sum),
                              ms_text(time_of(sum.longest_ns)),
                              fmt::format("{}", static_cast<std::uint64_t>(who.thread)),
                              who.name.empty() ? "?" : who.name, process_text(who)});
  }
  if (few < ids.size())
    by_thread.note = fmt::format("{} more: -n {}", ids.size() - few, ids.size());
  page.tables.push_back(std::move(by_thread));
  return page;
}

}  // namespace

extern const ReportKind waits_report{
    .name = "waits",
    .summary = "where threads waited, for how long and for what",
    .make = [](const ReportOptions& options) -> std::unique_ptr<Report> {
      return std::make_unique<WaitsReport>(options);
    },
};

}  // namespace clrscope::analyze
