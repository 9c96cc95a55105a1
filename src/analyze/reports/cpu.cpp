// Where processors spent their time, as the kernel or the agent sampled it.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "analyze/cpu_times.h"
#include "analyze/method_shares.h"
#include "analyze/words.h"

namespace clrscope::analyze {
namespace {

// Kinds of code in the order of the report, and their labels.
constexpr std::array<std::pair<FrameKind, std::string_view>, kFrameKinds> kKinds{{
    {FrameKind::kManaged, "the application's methods"},
    {FrameKind::kFramework, "the framework's methods"},
    {FrameKind::kDynamic, "dynamic methods"},
    {FrameKind::kRuntime, "the runtime"},
    {FrameKind::kGc, "the garbage collector"},
    {FrameKind::kJit, "the JIT compiler"},
    {FrameKind::kNative, "native libraries"},
    {FrameKind::kKernel, "the kernel"},
    {FrameKind::kUnknown, "code without a name"},
}};

struct Share {
  const SampledThread* who;
  SampleSum samples;
};

class Cpu final : public ReportOf<MethodShares> {
 public:
  explicit Cpu(const ReportOptions& options)
      : options_(options), times_(options.lines), sampler_(make_topn(options)) {}

  void on_batch(const nettrace::Reader& reader, const nettrace::Batch& batch) override {
    times_.on_batch(reader, batch);
    if (times_.any()) sampler_.reset();
    if (sampler_) sampler_->on_batch(reader, batch);
  }
  void end_of_trace(const nettrace::Reader& reader) override {
    times_.end_of_trace(reader);
    if (sampler_) sampler_->end_of_trace(reader);
  }

  MethodShares result() const override;
  Document page() const override;

 private:
  std::string sentence() const;
  std::vector<std::pair<FrameKind, std::string_view>> kinds() const;  // those that occur
  std::vector<std::pair<std::string, CpuTimes::Times>> modules() const;
  std::vector<Share> threads() const;
  std::vector<Share> processes() const;
  std::string share(const SampleSum& of) const { return share_text(of.ns, times_.samples().ns); }
  double percent_of(const SampleSum& of) const { return percent(of.ns, times_.samples().ns); }

  ReportOptions options_;
  CpuTimes times_;
  std::unique_ptr<ReportOf<MethodShares>> sampler_;  // answers when only the runtime sampled
};

std::vector<std::pair<FrameKind, std::string_view>> Cpu::kinds() const {
  std::vector<std::pair<FrameKind, std::string_view>> all;
  for (const auto& kind : kKinds)
    if (times_.by_kind(kind.first).count > 0) all.push_back(kind);
  std::stable_sort(all.begin(), all.end(), [&](const auto& a, const auto& b) {
    return times_.by_kind(a.first).ns > times_.by_kind(b.first).ns;
  });
  return all;
}

std::vector<std::pair<std::string, CpuTimes::Times>> Cpu::modules() const {
  std::vector<std::pair<std::string, CpuTimes::Times>> all{times_.by_module().begin(),
                                                           times_.by_module().end()};
  std::stable_sort(all.begin(), all.end(), [&](const auto& a, const auto& b) {
    return std::pair{a.second.self.ns, a.second.total.ns} >
           std::pair{b.second.self.ns, b.second.total.ns};
  });
  return all;
}

void sort_shares(std::vector<Share>& shares) {
  std::stable_sort(shares.begin(), shares.end(),
                   [](const Share& a, const Share& b) { return a.samples.ns > b.samples.ns; });
}

std::vector<Share> Cpu::threads() const {
  std::vector<Share> all;
  for (std::size_t i = 0; i < times_.by_thread().size(); ++i)
    if (times_.by_thread()[i].count > 0)
      all.push_back({&times_.threads()[i], times_.by_thread()[i]});
  sort_shares(all);
  return all;
}

std::vector<Share> Cpu::processes() const {
  std::map<std::pair<std::size_t, ProcessId>, Share> sums;
  for (const auto& thread : threads())
    sums.try_emplace({thread.who->trace, thread.who->process}, Share{thread.who, {}})
        .first->second.samples += thread.samples;
  std::vector<Share> all;
  for (const auto& [key, sum] : sums) all.push_back(sum);
  sort_shares(all);
  return all;
}

MethodShares Cpu::result() const {
  if (sampler_) return sampler_->result();
  MethodShares answer{.samples = times_.samples().count,
                      .idle_samples = times_.idle(),
                      .without_stack = times_.without_stack().count,
                      .state_from = times_.by_agent() ? StateFrom::kAgent : StateFrom::kKernel,
                      .duration = times_.span().length()};
  if (times_.period().count() > 0) {
    answer.sampling = times_.period();
    answer.cpus_busy = times_.busy();
  }
  for (const auto id : times_.ranked(options_.inclusive)) {
    const auto& [self, total] = times_.by_frame()[static_cast<std::size_t>(id)];
    answer.methods.push_back({.place = place_of(times_.frames().frame(id)),
                              .self = percent_of(self),
                              .total = percent_of(total),
                              .self_samples = self.count,
                              .total_samples = total.count});
  }
  for (auto& by_kind = answer.by_kind.emplace(); const auto& [kind, words] : kinds())
    by_kind.push_back({kind, percent_of(times_.by_kind(kind)), times_.by_kind(kind).count});
  for (auto& by_module = answer.by_module.emplace(); const auto& [module, times] : modules())
    by_module.push_back({module, percent_of(times.self), percent_of(times.total)});
  for (auto& by_thread = answer.by_thread.emplace(); const auto& [who, samples] : threads())
    by_thread.push_back({who->process, who->thread, who->name, percent_of(samples), samples.count});
  for (auto& by_process = answer.by_process.emplace(); const auto& [who, samples] : processes())
    by_process.push_back({who->process, who->process_name, percent_of(samples), samples.count});
  return answer;
}

// "29,870 samples in 30.0 s, 0.99 processors busy: 81.2 % in the application's methods, …"
std::string Cpu::sentence() const {
  auto text = fmt::format("{} samples in {}", count_text(times_.samples().count),
                          format_duration(times_.span().length()));
  if (times_.busy() > 0) text += fmt::format(", {:.2f} CPUs busy", times_.busy());
  constexpr std::size_t kTold = 3;
  const auto all = kinds();
  for (std::size_t i = 0; i < std::min(kTold, all.size()); ++i)
    text += fmt::format("{} {} in {}", i == 0 ? ":" : ",", share(times_.by_kind(all[i].first)),
                        all[i].second);
  return text + ".";
}

Document Cpu::page() const {
  if (sampler_) {
    auto page = sampler_->page();
    if (!page.tables.empty())
      page.summary.push_back(
          "Sampled by the runtime, which does not measure CPU time; use clrscope collect --profile "
          "cpu-sampling for that.");
    else
      page.next = "Record some: clrscope collect -p PID --profile cpu-sampling";
    return page;
  }
  Document page{.summary = {sentence()}};
  if (times_.by_agent())
    page.summary.push_back(
        "Sampled by the agent in the process: time in the kernel counts for the code that called "
        "it.");
  if (times_.without_stack().count > 0)
    page.summary.push_back(fmt::format("{} of them have no stack.", share(times_.without_stack())));
  const auto rows = options_.rows != 0 ? options_.rows : 20;
  const auto few = options_.rows != 0 ? options_.rows : 10;

  DocumentTable methods{.columns = {">SELF", ">TOTAL", "KIND", "METHOD", "MODULE"},
                        .keeps = "METHOD"};
  if (options_.lines) methods.columns.insert(methods.columns.begin() + 3, "LINE");
  const auto ids = times_.ranked(options_.inclusive);
  for (std::size_t i = 0; i < std::min(rows, ids.size()); ++i) {
    const auto& frame = times_.frames().frame(ids[i]);
    const auto& [self, total] = times_.by_frame()[static_cast<std::size_t>(ids[i])];
    methods.rows.push_back({share(self), share(total), std::string{to_string(frame.kind)},
                            frame.method, frame.module});
    auto& row = methods.rows.back();
    if (options_.lines) row.insert(row.begin() + 3, place_text(frame));
  }
  methods.note = "self: on top of the stack; total: anywhere in it.";
  if (rows < ids.size())
    methods.note += fmt::format(" {} more: -n {}", count_text(ids.size() - rows), ids.size());
  page.tables.push_back(std::move(methods));

  DocumentTable by_kind{.title = "By kind", .columns = {">SELF", ">SAMPLES", "KIND", "WHAT"}};
  for (const auto& [kind, words] : kinds())
    by_kind.rows.push_back({share(times_.by_kind(kind)), count_text(times_.by_kind(kind).count),
                            std::string{to_string(kind)}, std::string{words}});
  page.tables.push_back(std::move(by_kind));

  DocumentTable by_module{.title = "By module", .columns = {">SELF", ">TOTAL", "MODULE"}};
  const auto all_modules = modules();
  for (std::size_t i = 0; i < std::min(few, all_modules.size()); ++i)
    by_module.rows.push_back({share(all_modules[i].second.self), share(all_modules[i].second.total),
                              all_modules[i].first.empty() ? "?" : all_modules[i].first});
  page.tables.push_back(std::move(by_module));

  const auto all_processes = processes();
  DocumentTable by_thread{
      .title = "By thread", .columns = {">SHARE", ">THREAD", "NAME", "PROCESS"}, .keeps = "NAME"};
  const auto all_threads = threads();
  for (std::size_t i = 0; i < std::min(few, all_threads.size()); ++i) {
    const auto& [who, samples] = all_threads[i];
    by_thread.rows.push_back({share(samples),
                              fmt::format("{}", static_cast<std::uint64_t>(who->thread)),
                              who->name.empty() ? "?" : who->name, process_text(*who)});
  }
  if (few < all_threads.size())
    by_thread.note = fmt::format("{} more: -n {}", all_threads.size() - few, all_threads.size());
  page.tables.push_back(std::move(by_thread));

  if (all_processes.size() > 1) {
    DocumentTable by_process{.title = "By process", .columns = {">SHARE", ">SAMPLES", "PROCESS"}};
    for (std::size_t i = 0; i < std::min(few, all_processes.size()); ++i)
      by_process.rows.push_back({share(all_processes[i].samples),
                                 count_text(all_processes[i].samples.count),
                                 process_text(*all_processes[i].who)});
    page.tables.push_back(std::move(by_process));
  }
  return page;
}

}  // namespace

extern const ReportKind cpu_report =
    report_kind<Cpu>("cpu", "CPU time by method, kind of code, module and thread");

}  // namespace clrscope::analyze
