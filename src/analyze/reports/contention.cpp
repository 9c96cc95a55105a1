// Waits for locks: where, how long, for whom.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <unordered_map>

#include "analyze/report.h"
#include "analyze/sites.h"
#include "analyze/trace_span.h"
#include "analyze/words.h"

namespace clrscope::analyze {
namespace {

using nettrace::Known;
using std::chrono::nanoseconds;

struct Waits {
  std::uint64_t count = 0;
  std::uint64_t unfinished = 0;  // still waiting when the trace ended
  nanoseconds total{};
  nanoseconds longest{};
  std::map<std::uint64_t, std::uint64_t> owners{};  // thread that held the lock: how often

  void add(nanoseconds time) {
    ++count;
    grow(total, time);
    longest = std::max(longest, time);
  }
  void add(const Waits& more) {
    count += more.count;
    unfinished += more.unfinished;
    grow(total, more.total);
    longest = std::max(longest, more.longest);
    for (const auto& [owner, times] : more.owners) owners[owner] += times;
  }
};

template <class Map>
auto ranked(const Map& map) {
  std::vector<const typename Map::value_type*> all;
  for (const auto& one : map) all.push_back(&one);
  std::stable_sort(all.begin(), all.end(),
                   [](auto* a, auto* b) { return a->second.total > b->second.total; });
  return all;
}

class Contention final : public Report {
 public:
  explicit Contention(const ReportOptions& options) : options_(options) {}

  void on_batch(const nettrace::Reader& reader, const nettrace::Batch& batch) override {
    if (!trace_) trace_.emplace(frames_);
    for (const Event& event : batch.events) {
      if (trace_->providers.of(*event.type) != Provider::kRundown) {
        span_.on_event(event.time);
        trace_->last = std::max(trace_->last, event.time);
      }
      const auto known = trace_->known.of(*event.type);
      if (known == Known::kContentionStart)
        begin(reader, event);
      else if (known == Known::kContentionStop)
        end(reader, event);
      else
        trace_->sites.on_other(event);
    }
    trace_->sites.on_batch_end(batch);
  }

  void end_of_trace(const nettrace::Reader& reader) override;
  void write_members(JsonWriter& json) const override;
  Page page() const override;

 private:
  using ThreadKey = std::pair<ProcessId, ThreadId>;
  struct Open {
    TraceTime begin;
    StackId stack;
    std::uint64_t lock;
    std::uint64_t owner;
  };
  struct Trace {
    explicit Trace(FrameTable& frames) : sites(frames) {}
    KnownEvents known;
    Providers providers;
    Sites sites;
    std::map<ThreadKey, Open> open;
    std::map<StackId, Waits> by_stack;
    std::map<std::uint64_t, Waits> by_lock;
    TraceTime last = TraceTime::min();
  };

  void begin(const nettrace::Reader& reader, const Event& event) {
    const auto start =
        nettrace::read_as<nettrace::ContentionStart>(event, reader.info()->pointer_size);
    if (!start) return;
    trace_->open[{event.process, event.thread}] = {
        event.time, trace_->sites.stack_of(reader, event), start->lock, start->owner_thread};
  }
  void end(const nettrace::Reader& reader, const Event& event) {
    const auto stop =
        nettrace::read_as<nettrace::ContentionStop>(event, reader.info()->pointer_size);
    const auto found = trace_->open.find({event.process, event.thread});
    auto time = whole_ns(stop ? stop->duration_ns : 0);
    Open open{event.time, StackId::kNone, 0, 0};  // began before the trace
    if (found != trace_->open.end()) {
      open = found->second;
      if (time.count() <= 0) time = between(open.begin, event.time);
      trace_->open.erase(found);
    }
    add(open, time, 0);
  }
  void add(const Open& open, nanoseconds time, std::uint64_t unfinished) {
    auto& waits = trace_->by_stack[open.stack];
    waits.add(time);
    waits.unfinished += unfinished;
    if (open.owner != 0) ++waits.owners[open.owner];
    if (open.lock != 0) trace_->by_lock[open.lock].add(time);
    all_.add(time);
    all_.unfinished += unfinished;
  }
  double rate() const {
    return span_.seconds() > 0 ? static_cast<double>(all_.count) / span_.seconds() : 0;
  }

  ReportOptions options_;
  FrameTable frames_;
  std::optional<Trace> trace_;
  std::map<FrameId, Waits> sites_;
  std::size_t locks_ = 0;
  Waits all_;
  TraceSpan span_;
};

void Contention::end_of_trace(const nettrace::Reader& reader) {
  span_.end_of_trace(reader);
  if (!trace_) return;
  for (const auto& [thread, open] : trace_->open) add(open, between(open.begin, trace_->last), 1);
  for (const auto& [stack, waits] : trace_->by_stack) sites_[trace_->sites.site(stack)].add(waits);
  locks_ += trace_->by_lock.size();
  trace_.reset();
}

void Contention::write_members(JsonWriter& json) const {
  json.member("contentions", all_.count)
      .member("unfinished", all_.unfinished)
      .member("totalMs", ms(all_.total))
      .member("longestMs", ms(all_.longest))
      .member("ratePerSecond", rate())
      .member("locks", locks_)
      .member("durationMs", ms(span_.length()))
      .key("sites")
      .begin_array();
  for (const auto* one : ranked(sites_)) {
    const auto& [site, waits] = *one;
    json.begin_object()
        .member("method", frames_.frame(site).method)
        .member("module", frames_.frame(site).module)
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
}

Page Contention::page() const {
  if (all_.count == 0)
    return {.summary = {"No thread waited for a lock in this trace, or it was not recorded."},
            .next = "Record it: clrscope collect -p PID --clrevents contention"};
  Page page;
  page.summary.push_back(fmt::format(
      "{} wait{} for locks in {:.1f} s: {:.1f} ms in all, longest {}.", count_text(all_.count),
      all_.count == 1 ? "" : "s", span_.seconds(), ms(all_.total), ms_text(all_.longest)));
  if (all_.unfinished > 0)
    page.summary.push_back(fmt::format("{} thread{} still waited when the trace ended.",
                                       count_text(all_.unfinished),
                                       all_.unfinished == 1 ? "" : "s"));
  PageTable table{.columns = {">COUNT", ">WAITED", ">MEAN", ">LONGEST", ">HELD BY", "WAITING IN"}};
  const auto sites = ranked(sites_);
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
    table.rows.push_back({count_text(waits.count), ms_text(waits.total),
                          ms_text(waits.total / static_cast<std::int64_t>(waits.count)),
                          ms_text(waits.longest), held, frames_.frame(site).method});
  }
  if (rows < sites.size())
    table.note = fmt::format("{} more places: -n {}", sites.size() - rows, sites.size());
  page.tables.push_back(std::move(table));
  return page;
}

}  // namespace

extern const ReportKind contention_report{
    .name = "contention",
    .summary = "waits for locks: where, how long, for whom",
    .make = [](const ReportOptions& options) -> std::unique_ptr<Report> {
      return std::make_unique<Contention>(options);
    },
};

}  // namespace clrscope::analyze
