// The methods that took the most samples.
#include <fmt/format.h>

#include <algorithm>

#include "analyze/method_shares.h"
#include "analyze/method_times.h"
#include "analyze/words.h"

namespace clrscope::analyze {
namespace {

constexpr std::size_t kLeastShare = 2000;  // less than 1/2000 is not shown unless -n asks for it

class TopN final : public ReportOf<MethodShares> {
 public:
  explicit TopN(const ReportOptions& options) : options_(options), methods_(options.lines) {}

  void on_batch(const nettrace::Reader& reader, const nettrace::Batch& batch) override {
    methods_.on_batch(reader, batch);
  }
  void end_of_trace(const nettrace::Reader& /*reader*/) override { methods_.end_of_trace(); }

  MethodShares result() const override;
  Document page() const override;

 private:
  std::uint64_t unnamed_ns() const;
  DocumentTable running_table(std::size_t rows) const;

  ReportOptions options_;
  MethodTimes methods_;
};

MethodShares TopN::result() const {
  const auto& samples = methods_.samples();
  MethodShares answer{.samples = samples.all.count,
                      .running = samples.running.count,
                      .waiting = samples.waiting.count,
                      .without_stack = methods_.without_stack(),
                      .state_from = methods_.judged_by_top() > 0 ? StateFrom::kTopOfStack
                                    : methods_.by_agent() > 0    ? StateFrom::kAgent
                                    : methods_.by_kernel() > 0   ? StateFrom::kKernel
                                                                 : StateFrom::kSampler};
  for (const auto id : methods_.ranked(options_.inclusive)) {
    const auto& [self, total] = methods_.times()[static_cast<std::size_t>(id)];
    answer.methods.push_back({.place = place_of(methods_.frames().frame(id)),
                              .self = percent(self.all.ns, samples.all.ns),
                              .total = percent(total.all.ns, samples.all.ns),
                              .self_running = percent(self.running.ns, samples.all.ns),
                              .total_running = percent(total.running.ns, samples.all.ns),
                              .self_samples = self.all.count,
                              .total_samples = total.all.count});
  }
  return answer;
}

Document TopN::page() const {
  const auto& samples = methods_.samples();
  if (samples.all.count == 0)
    return {.summary = {"No stack samples in this trace."},
            .next = "Record some: clrscope collect -p PID --profile dotnet-sampled-thread-time"};
  const auto ids = methods_.ranked(options_.inclusive);
  Document page;
  if (methods_.by_kernel() == samples.all.count)
    page.summary.push_back(
        fmt::format("{} samples of running threads, taken by {}. The report cpu has more detail.",
                    count_text(samples.all.count),
                    methods_.by_agent() == 0                   ? "the kernel"
                    : methods_.by_agent() == samples.all.count ? "the agent"
                                                               : "the kernel and the agent"));
  else
    page.summary.push_back(
        fmt::format("{} samples: {} in managed code (running), {} outside it (mostly waiting).",
                    count_text(samples.all.count), share_text(samples.running.ns, samples.all.ns),
                    share_text(samples.waiting.ns, samples.all.ns)));
  if (methods_.judged_by_top() > 0)
    page.summary.push_back(
        "The sampler of .NET 9 does not distinguish running from waiting threads: estimated from "
        "the top method.");
  if (const auto unnamed = unnamed_ns(); unnamed > samples.all.ns / 20)
    page.summary.push_back(
        fmt::format("{} of them end in code without a name (\"?\"): the end of the recording, "
                    "which holds the names, may be missing.",
                    share_text(unnamed, samples.all.ns)));
  const auto rows = options_.rows != 0 ? options_.rows : 20;
  DocumentTable table{.columns = {">SELF", ">TOTAL", ">RUNNING", "METHOD", "MODULE"},
                      .keeps = "METHOD"};
  if (options_.lines) table.columns.insert(table.columns.begin() + 3, "LINE");
  for (std::size_t i = 0; i < std::min(rows, ids.size()); ++i) {
    const auto& frame = methods_.frames().frame(ids[i]);
    const auto& [self, total] = methods_.times()[static_cast<std::size_t>(ids[i])];
    const auto& shown = options_.inclusive ? total : self;
    if (options_.rows == 0 && shown.all.ns < samples.all.ns / kLeastShare) break;
    table.rows.push_back({share_text(self.all.ns, samples.all.ns),
                          share_text(total.all.ns, samples.all.ns),
                          share_text(shown.running.ns, shown.all.ns), frame.method, frame.module});
    auto& row = table.rows.back();
    if (options_.lines) row.insert(row.begin() + 3, place_text(frame));
  }
  table.note = fmt::format(
      "self: on top of the stack; total: anywhere in it; running: share of {} in managed code.",
      options_.inclusive ? "total" : "self");
  if (const auto shown = table.rows.size(); shown < ids.size())
    table.note +=
        fmt::format("\n{}: -n {}", counted(ids.size() - shown, "more method"), ids.size());
  page.tables.push_back(std::move(table));
  if (samples.running.ns > samples.all.ns / 100 && samples.waiting.ns > samples.running.ns)
    page.tables.push_back(running_table(std::min<std::size_t>(rows, 10)));
  return page;
}

std::uint64_t TopN::unnamed_ns() const {
  std::uint64_t ns = 0;
  for (std::uint32_t i = 0; i < methods_.times().size(); ++i)
    if (methods_.frames().frame(FrameId{i}).kind == FrameKind::kUnknown)
      ns += methods_.times()[i].self.all.ns;
  return ns;
}

// Waiting threads crowd out the busy ones: these once more, alone.
DocumentTable TopN::running_table(std::size_t rows) const {
  auto ids = methods_.ranked(options_.inclusive);
  const auto running = [&](FrameId id) {
    const auto& [self, total] = methods_.times()[static_cast<std::size_t>(id)];
    return options_.inclusive ? total.running.ns : self.running.ns;
  };
  std::stable_sort(ids.begin(), ids.end(),
                   [&](FrameId a, FrameId b) { return running(a) > running(b); });
  DocumentTable table{.title = "Running only",
                      .columns = {">SELF", ">TOTAL", "METHOD", "MODULE"},
                      .keeps = "METHOD"};
  const auto all = methods_.samples().running.ns;
  for (std::size_t i = 0; i < std::min(rows, ids.size()) && running(ids[i]) > 0; ++i) {
    const auto& frame = methods_.frames().frame(ids[i]);
    const auto& [self, total] = methods_.times()[static_cast<std::size_t>(ids[i])];
    table.rows.push_back({share_text(self.running.ns, all), share_text(total.running.ns, all),
                          frame.method, frame.module});
  }
  return table;
}

}  // namespace

std::unique_ptr<ReportOf<MethodShares>> make_topn(const ReportOptions& options) {
  return std::make_unique<TopN>(options);
}

extern const ReportKind topn_report = report_kind<TopN>("topn", "methods by share of samples");

}  // namespace clrscope::analyze
