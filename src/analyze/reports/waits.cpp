// Where threads waited, by the kernel's switches.
#include "analyze/waits.h"

#include <fmt/format.h>

#include <algorithm>

#include "analyze/parts.h"
#include "analyze/report.h"
#include "analyze/words.h"

namespace clrscope::analyze {
namespace {

std::chrono::nanoseconds time_of(std::uint64_t ns) {
  return std::chrono::nanoseconds{static_cast<std::int64_t>(ns)};
}

struct WaitTimes : Times {
  std::chrono::nanoseconds unfinished_time{};
};
const Shape& shape_of(const WaitTimes*) {
  static const auto shape =
      describe<WaitTimes>("WaitTimes", "how often and how long threads waited",
                          {inherited<WaitTimes, Times>(),
                           member<&WaitTimes::unfinished_time>(
                               "unfinishedMs", "time of unfinished ones, until the trace ended")});
  return shape;
}
WaitTimes times_of(const WaitSum& sum) {
  WaitTimes times;
  times.count = sum.count;
  times.unfinished = sum.unfinished;
  times.total = time_of(sum.ns);
  times.longest = time_of(sum.longest_ns);
  times.unfinished_time = time_of(sum.unfinished_ns);
  return times;
}

struct ReasonWaits {
  WaitReason reason{};
  WaitTimes times{};
};
const Shape& shape_of(const ReasonWaits*) {
  static const auto shape =
      describe<ReasonWaits>("ReasonWaits", "waits with one reason",
                            {member<&ReasonWaits::reason>("reason", "what was waited for"),
                             members_of<&ReasonWaits::times>()});
  return shape;
}

struct WaitSite {
  Place place{};
  WaitReason reason{};
  WaitTimes times{};
  ThreadId longest_thread{};
};
const Shape& shape_of(const WaitSite*) {
  using S = WaitSite;
  static const auto shape =
      describe<S>("WaitSite", "place where threads waited",
                  {members_of<&S::place>(), member<&S::reason>("reason", "what was waited for"),
                   members_of<&S::times>(),
                   member<&S::longest_thread>("longestOsId",
                                              "thread that waited longest: its id in the operating "
                                              "system")});
  return shape;
}

struct ThreadWaits {
  ProcessId pid{};
  ThreadId thread{};
  std::string name{};
  WaitTimes times{};
};
const Shape& shape_of(const ThreadWaits*) {
  using T = ThreadWaits;
  static const auto shape =
      describe<T>("ThreadWaits", "waits of one thread",
                  {member<&T::pid>("pid", "process id"),
                   member<&T::thread>("osId", "operating system's thread id"),
                   member<&T::name>("name", "thread name"), members_of<&T::times>()});
  return shape;
}

struct WaitsAnswer {
  std::uint64_t waits = 0;
  std::chrono::nanoseconds total{};
  std::chrono::nanoseconds longest{};
  std::chrono::nanoseconds idle{};
  std::uint64_t unfinished = 0;
  std::chrono::nanoseconds unfinished_time{};
  std::chrono::nanoseconds unexplained{};
  std::optional<std::chrono::nanoseconds> recorded{};
  std::vector<ReasonWaits> by_reason{};
  std::vector<WaitSite> sites{};
  std::vector<ThreadWaits> by_thread{};
};
const Shape& shape_of(const WaitsAnswer*) {
  using A = WaitsAnswer;
  static const auto shape = describe<A>(
      "WaitsReport", "waits of threads, by the kernel's context switches",
      {member<&A::waits>("waits", "number of waits"),
       member<&A::total>("totalMs", "total time waited, over all threads"),
       member<&A::longest>("longestMs", "longest wait"),
       member<&A::idle>("idleMs", "time that threads without work waited"),
       member<&A::unfinished>("unfinished", "waits that had not ended when the trace ended"),
       member<&A::unfinished_time>("unfinishedMs", "their time until then"),
       member<&A::unexplained>("unexplainedMs", "time of waits without a stack"),
       member<&A::recorded>("recordedMs", "recorded part of the trace, when waits ended early"),
       member<&A::by_reason>("byReason", "waits by reason"),
       member<&A::sites>("sites", "places that waited, longest total time first, idle ones last"),
       member<&A::by_thread>("byThread", "waits by thread")});
  return shape;
}

class WaitsReport final : public ReportOf<WaitsAnswer> {
 public:
  explicit WaitsReport(const ReportOptions& options) : options_(options), waits_(options.lines) {}

  void on_batch(const nettrace::Reader& reader, const nettrace::Batch& batch) override {
    waits_.on_batch(reader, batch);
  }
  void end_of_trace(const nettrace::Reader& reader) override { waits_.end_of_trace(reader); }

  WaitsAnswer result() const override;
  Document page() const override;

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

WaitsAnswer WaitsReport::result() const {
  const auto& all = waits_.all();
  WaitsAnswer answer{.waits = all.count,
                     .total = time_of(all.ns),
                     .longest = time_of(all.longest_ns),
                     .idle = time_of(waits_.idle().ns),
                     .unfinished = all.unfinished,
                     .unfinished_time = time_of(all.unfinished_ns),
                     .unexplained = time_of(waits_.unexplained().ns)};
  if (const auto& ended = waits_.source().waits_ended()) answer.recorded = ended->recorded;
  for (const auto reason : reasons())
    answer.by_reason.push_back({reason, times_of(waits_.by_reason(reason))});
  for (const auto& [site, sum] : sites())
    answer.sites.push_back({place_of(waits_.frame(site.frame)), site.reason, times_of(sum),
                            waits_.threads()[sum.longest_thread].thread});
  for (const auto i : threads()) {
    const auto& who = waits_.threads()[i];
    answer.by_thread.push_back(
        {who.process, who.thread, who.name, times_of(waits_.by_thread()[i].waits)});
  }
  return answer;
}

Document WaitsReport::page() const {
  const auto& all = waits_.all();
  const auto& ended = waits_.source().waits_ended();
  if (all.count == 0)
    return {
        .summary = {ended ? fmt::format("No waits in this trace: recording {} context switches a "
                                        "second would have cost too much.",
                                        count_text(ended->per_second))
                          : "No context switches in this trace."},
        .next =
            "Record some: clrscope collect -p PID --profile thread-time (or -a for the machine)"};
  Document page;
  const auto why = reasons();
  const auto& shown = waits_.busy().count > 0 ? waits_.busy() : all;
  const auto& longest = waits_.threads()[shown.longest_thread];
  page.summary.push_back(fmt::format(
      "{} waits, {} over all threads, mostly for {} ({}). The longest took {}, in thread {}{}.",
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
        fmt::format("{} of them ({}) have no stack from the kernel or the runtime.",
                    count_text(dark.count), share_text(dark.ns, all.ns)));
  if (ended)
    page.summary.push_back(fmt::format(
        "Recorded only in the first {} of {}: {} context switches a second would have cost too "
        "much. Use --profile thread-time to record all of them.",
        format_duration(ended->recorded), format_duration(waits_.source().span().length()),
        count_text(ended->per_second)));
  const auto rows = options_.rows != 0 ? options_.rows : 20;
  const auto few = options_.rows != 0 ? options_.rows : 10;

  DocumentTable places{.columns = {">TOTAL", ">WAITS", ">UNFINISHED", ">LONGEST", "FOR", "WHERE"},
                       .keeps = "WHERE"};
  if (options_.lines) places.columns.insert(places.columns.begin() + 5, "LINE");
  const auto all_sites = sites();
  for (std::size_t i = 0; i < std::min(rows, all_sites.size()); ++i) {
    const auto& [site, sum] = all_sites[i];
    const auto& frame = waits_.frame(site.frame);
    places.rows.push_back({format_duration(time_of(sum.ns)), count_text(sum.count),
                           unfinished_text(sum), format_duration(time_of(sum.longest_ns)),
                           std::string{words_for(site.reason)}, where_text(frame)});
    auto& row = places.rows.back();
    if (options_.lines) row.insert(row.begin() + 5, place_text(frame));
  }
  places.note =
      "signal: from another thread; no processor: ready to run, but no CPU was free.\nUnfinished: "
      "had not ended when the recording ended; counted until then.";
  if (rows < all_sites.size())
    places.note += fmt::format(" {} more: -n {}", all_sites.size() - rows, all_sites.size());
  page.tables.push_back(std::move(places));

  DocumentTable by_reason{.title = "By reason", .columns = {">SHARE", ">TOTAL", ">WAITS", "FOR"}};
  for (const auto reason : why) {
    const auto& sum = waits_.by_reason(reason);
    by_reason.rows.push_back({share_text(sum.ns, all.ns), format_duration(time_of(sum.ns)),
                              count_text(sum.count), std::string{words_for(reason)}});
  }
  page.tables.push_back(std::move(by_reason));

  DocumentTable by_thread{
      .title = "By thread",
      .columns = {">TOTAL", ">WAITS", ">UNFINISHED", ">LONGEST", ">THREAD", "NAME", "PROCESS"},
      .keeps = "NAME"};
  const auto ids = threads();
  for (std::size_t i = 0; i < std::min(few, ids.size()); ++i) {
    const auto& who = waits_.threads()[ids[i]];
    const auto& sum = waits_.by_thread()[ids[i]].waits;
    by_thread.rows.push_back({format_duration(time_of(sum.ns)), count_text(sum.count),
                              unfinished_text(sum), format_duration(time_of(sum.longest_ns)),
                              fmt::format("{}", static_cast<std::uint64_t>(who.thread)),
                              who.name.empty() ? "?" : who.name, process_text(who)});
  }
  if (few < ids.size())
    by_thread.note = fmt::format("{} more: -n {}", ids.size() - few, ids.size());
  page.tables.push_back(std::move(by_thread));
  return page;
}

}  // namespace

extern const ReportKind waits_report =
    report_kind<WaitsReport>("waits", "where threads waited, for how long and for what");

}  // namespace clrscope::analyze
