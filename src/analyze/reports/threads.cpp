// What each thread did: on a processor, waiting, and for what.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "analyze/report.h"
#include "analyze/waits.h"
#include "analyze/words.h"

namespace clrscope::analyze {
namespace {

struct ThreadActivity {
  ProcessId pid{};
  std::string process{};
  ThreadId thread{};
  std::string name{};
  std::uint64_t samples = 0;
  std::optional<std::chrono::nanoseconds> cpu{};
  std::uint64_t waits = 0;
  std::chrono::nanoseconds waiting{};
  std::map<std::string, std::chrono::nanoseconds> waiting_by_reason{};
};
const Shape& shape_of(const ThreadActivity*) {
  using T = ThreadActivity;
  static const auto shape = describe<T>(
      "ThreadActivity", "what one thread did",
      {member<&T::pid>("pid", "process id"), member<&T::process>("process", "process name"),
       member<&T::thread>("osId", "operating system's thread id"),
       member<&T::name>("name", "thread name"), member<&T::samples>("samples", "CPU samples"),
       member<&T::cpu>("cpuMs", "CPU time, if the sampling rate is known"),
       member<&T::waits>("waits", "number of waits"),
       member<&T::waiting>("waitingMs", "total time waited"),
       member<&T::waiting_by_reason>("waitingMsByReason", "time waited, by reason")});
  return shape;
}

struct ThreadsAnswer {
  std::uint64_t samples = 0;
  std::uint64_t switches = 0;
  std::chrono::nanoseconds duration{};
  std::vector<ThreadActivity> threads{};
};
const Shape& shape_of(const ThreadsAnswer*) {
  using A = ThreadsAnswer;
  static const auto shape =
      describe<A>("ThreadsReport", "what each thread did",
                  {member<&A::samples>("samples", "CPU samples taken by the kernel or the agent"),
                   member<&A::switches>("switches", "context switches recorded by the kernel"),
                   member<&A::duration>("durationMs", "duration of the trace"),
                   member<&A::threads>("threads", "threads, most CPU time first")});
  return shape;
}

class Threads final : public ReportOf<ThreadsAnswer> {
 public:
  explicit Threads(const ReportOptions& options) : options_(options) {}

  void on_batch(const nettrace::Reader& reader, const nettrace::Batch& batch) override {
    waits_.on_batch(reader, batch);
  }
  void end_of_trace(const nettrace::Reader& reader) override { waits_.end_of_trace(reader); }

  ThreadsAnswer result() const override;
  Document page() const override;

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

ThreadsAnswer Threads::result() const {
  ThreadsAnswer answer{.samples = waits_.source().cpu_samples(),
                       .switches = waits_.source().switches(),
                       .duration = waits_.source().span().length()};
  for (const auto i : ranked()) {
    const auto& who = waits_.threads()[i];
    const auto& times = waits_.by_thread()[i];
    auto& told = answer.threads.emplace_back(ThreadActivity{.pid = who.process,
                                                            .process = who.process_name,
                                                            .thread = who.thread,
                                                            .name = who.name,
                                                            .samples = times.cpu.count,
                                                            .waits = times.waits.count,
                                                            .waiting = off(i)});
    if (timed()) told.cpu = cpu(i);
    for (std::uint8_t r = 0; r < kWaitReasons; ++r)
      if (const auto ns = times.ns_by_reason[r]; ns > 0)
        told.waiting_by_reason[std::string{to_string(WaitReason{r})}] =
            std::chrono::nanoseconds{static_cast<std::int64_t>(ns)};
  }
  return answer;
}

Document Threads::page() const {
  const auto all = ranked();
  if (all.empty())
    return {.summary = {"No CPU samples and no context switches in this trace."},
            .next = "Record some: clrscope collect -p PID --profile cpu-sampling,thread-time"};
  const bool switches = waits_.source().switches() > 0;
  Document page;
  page.summary.push_back(
      fmt::format("{} threads in {}: {} CPU samples, {} waits.", count_text(all.size()),
                  format_duration(waits_.source().span().length()),
                  count_text(waits_.source().cpu_samples()), count_text(waits_.all().count)));
  if (!switches)
    page.summary.emplace_back(
        "Waits were not recorded; use clrscope collect --profile thread-time.");
  DocumentTable table{.columns = {timed() ? ">CPU" : ">SAMPLES", ">WAITING", ">WAITS", "MOSTLY FOR",
                                  ">THREAD", "NAME", "PROCESS"},
                      .keeps = "NAME"};
  const auto rows = std::min(all.size(), options_.rows != 0 ? options_.rows : 30);
  for (std::size_t n = 0; n < rows; ++n) {
    const auto i = all[n];
    const auto& who = waits_.threads()[i];
    const auto& times = waits_.by_thread()[i];
    const bool waited = times.waits.count > 0;
    table.rows.push_back({timed() ? format_duration(cpu(i)) : count_text(times.cpu.count),
                          switches ? format_duration(off(i)) : "?",
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

extern const ReportKind threads_report =
    report_kind<Threads>("threads", "what each thread did: CPU time and waits, by reason");

}  // namespace clrscope::analyze
