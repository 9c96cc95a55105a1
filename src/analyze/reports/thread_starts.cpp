// Threads that started while the trace ran, and the code that started them.
//
// The runtime writes no event when a thread ends.
#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <map>
#include <optional>

#include "analyze/by_process.h"
#include "analyze/parts.h"
#include "analyze/report.h"
#include "analyze/sites.h"
#include "analyze/trace_span.h"
#include "analyze/words.h"

namespace clrscope::analyze {
namespace {

using nettrace::Known;
using std::chrono::nanoseconds;

constexpr std::size_t kMostListed = 2000;  // threads; all are counted

struct StartedThread {
  ProcessId pid{};
  std::optional<ThreadId> thread{};
  nanoseconds start{};
  Place started_by{};
};
const Shape& shape_of(const StartedThread*) {
  using T = StartedThread;
  static const auto shape =
      describe<T>("StartedThread", "thread that started while the trace ran",
                  {member<&T::pid>("pid", "process id"),
                   member<&T::thread>("osId", "operating system's thread id, once it ran"),
                   member<&T::start>("startMs", "start of the thread, since the trace began"),
                   member<&T::started_by>("startedBy", "code that started it")});
  return shape;
}

struct ThreadStarter {
  Place place{};
  std::uint64_t started = 0;
};
const Shape& shape_of(const ThreadStarter*) {
  using S = ThreadStarter;
  static const auto shape =
      describe<S>("ThreadStarter", "place in the code that starts threads",
                  {members_of<&S::place>(), member<&S::started>("started", "threads it started")});
  return shape;
}

struct ThreadStartsAnswer {
  std::uint64_t started = 0;
  double rate = 0;
  nanoseconds duration{};
  std::vector<ThreadStarter> sites{};
  std::vector<StartedThread> threads{};
  std::vector<ProcessCount> by_process{};
};
const Shape& shape_of(const ThreadStartsAnswer*) {
  using A = ThreadStartsAnswer;
  static const auto shape = describe<A>(
      "ThreadStartsReport", "managed threads that started",
      {member<&A::started>("started", "threads that started"),
       member<&A::rate>("startedPerSecond", Unit::kPerSecond, "threads started per second"),
       member<&A::duration>("durationMs", "duration of the trace"),
       member<&A::sites>("sites", "places that started threads, most threads first"),
       member<&A::threads>("threads", "the last threads that started, in order of their start"),
       member<&A::by_process>("byProcess", "threads that started in each process")});
  return shape;
}

class ThreadStarts final : public ReportOf<ThreadStartsAnswer> {
 public:
  explicit ThreadStarts(const ReportOptions& options) : options_(options) {}

  void on_batch(const nettrace::Reader& reader, const nettrace::Batch& batch) override {
    if (!trace_) trace_.emplace(frames_);
    const auto size = reader.info() ? reader.info()->pointer_size : 8;
    by_process_.on_batch(batch, {Known::kThreadCreating});
    for (const Event& event : batch.events) {
      if (trace_->providers.of(*event.type) != Provider::kRundown) span_.on_event(event.time);
      const auto known = trace_->known.of(*event.type);
      if (known != Known::kThreadCreating && known != Known::kThreadRunning) {
        trace_->sites.on_other(event);
        continue;
      }
      const auto one = nettrace::read_as<nettrace::ThreadEvent>(event, size);
      if (!one) continue;
      if (known == Known::kThreadCreating)
        start(reader, event, one->thread);
      else
        run(event, one->thread);
    }
    trace_->sites.on_batch_end(batch);
  }

  // The names are there only now.
  void end_of_trace(const nettrace::Reader& reader) override {
    span_.end_of_trace(reader);
    by_process_.end_of_trace();
    if (!trace_) return;
    for (const auto& [stack, count] : trace_->by_stack)
      starters_[trace_->sites.site(stack)] += count;
    for (const auto& life : trace_->started)
      threads_.push_back({.pid = life.process,
                          .thread = life.thread,
                          .start = life.at,
                          .started_by = place_of(frames_.frame(trace_->sites.site(life.stack)))});
    trace_.reset();
  }

  ThreadStartsAnswer result() const override;
  Document page() const override;

 private:
  struct Started {
    ProcessId process{};
    StackId stack{};
    nanoseconds at{};
    std::uint64_t address = 0;
    std::optional<ThreadId> thread{};
  };
  struct Trace {
    explicit Trace(FrameTable& frames) : sites(frames) {}
    KnownEvents known;
    Providers providers;
    Sites sites;
    std::map<StackId, std::uint64_t> by_stack;
    std::deque<Started> started;  // the last ones
  };

  void start(const nettrace::Reader& reader, const Event& event, std::uint64_t address) {
    const auto stack = trace_->sites.stack_of(reader, event);
    const auto began = reader.info() ? reader.info()->begin() : event.time;
    ++trace_->by_stack[stack];
    trace_->started.push_back(
        {event.process, stack, between(began, event.time), address, std::nullopt});
    if (trace_->started.size() > kMostListed) trace_->started.pop_front();
  }
  // The newest of that address: the runtime gives an address to one thread after the other.
  void run(const Event& event, std::uint64_t address) {
    const auto found = std::find_if(
        trace_->started.rbegin(), trace_->started.rend(),
        [&](const auto& one) { return one.process == event.process && one.address == address; });
    if (found != trace_->started.rend() && !found->thread) found->thread = event.thread;
  }

  ReportOptions options_;
  FrameTable frames_;
  std::optional<Trace> trace_;
  std::map<FrameId, std::uint64_t> starters_;
  std::vector<StartedThread> threads_;
  TraceSpan span_;
  ByProcess by_process_;
};

ThreadStartsAnswer ThreadStarts::result() const {
  ThreadStartsAnswer answer{
      .duration = span_.length(), .threads = threads_, .by_process = by_process_.all()};
  for (const auto& [frame, started] : starters_) {
    answer.sites.push_back({place_of(frames_.frame(frame)), started});
    answer.started += started;
  }
  std::ranges::stable_sort(answer.sites, std::greater{}, &ThreadStarter::started);
  if (span_.seconds() > 0) answer.rate = static_cast<double>(answer.started) / span_.seconds();
  return answer;
}

Document ThreadStarts::page() const {
  const auto answer = result();
  if (answer.started == 0)
    return {.summary = {"No thread started in this trace, or it was not recorded."},
            .next = "Record it: clrscope collect -p PID --clrevents threading"};
  Document page;
  page.summary.push_back(fmt::format("{} thread{} started in {}, {:.1f} per second.",
                                     count_text(answer.started), answer.started == 1 ? "" : "s",
                                     format_duration(span_.length()), answer.rate));
  DocumentTable table{.columns = {">STARTED", "STARTED BY", "MODULE"}, .keeps = "STARTED BY"};
  const auto rows = std::min(answer.sites.size(), options_.rows != 0 ? options_.rows : 20);
  for (std::size_t i = 0; i < rows; ++i) {
    const auto& site = answer.sites[i];
    table.rows.push_back({count_text(site.started), site.place.method, site.place.module});
  }
  if (rows < answer.sites.size())
    table.note =
        fmt::format("{} more places: -n {}", answer.sites.size() - rows, answer.sites.size());
  page.tables.push_back(std::move(table));
  by_process_.add_table(page, "STARTED");
  return page;
}

}  // namespace

extern const ReportKind thread_starts_report = report_kind<ThreadStarts>(
    "thread-starts", "threads that started, and the code that started them");

}  // namespace clrscope::analyze
