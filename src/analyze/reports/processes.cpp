// The processes that a trace tells of.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "analyze/process_names.h"
#include "analyze/providers.h"
#include "analyze/report.h"
#include "analyze/samples.h"
#include "analyze/words.h"

namespace clrscope::analyze {
namespace {

struct Process {
  ProcessInfo info{};
  std::string name{};
  std::string runtime{};
  std::string container{};
  std::uint64_t events = 0;
  std::uint64_t samples = 0;
  std::set<ThreadId> threads{};
};

struct RecordedProcess {
  ProcessId pid{};
  std::string name{};
  std::string command_line{};
  std::string runtime{};
  std::string architecture{};
  std::string system{};
  std::uint64_t events = 0;
  std::uint64_t samples = 0;
  std::uint64_t threads = 0;
  std::optional<std::string> container{};
};
const Shape& shape_of(const RecordedProcess*) {
  using P = RecordedProcess;
  static const auto shape =
      describe<P>("RecordedProcess", "process in a trace",
                  {member<&P::pid>("pid", "process id"), member<&P::name>("name", "process name"),
                   member<&P::command_line>("commandLine", "command line"),
                   member<&P::runtime>("runtime", "version of its .NET runtime"),
                   member<&P::architecture>("architecture", "processor architecture"),
                   member<&P::system>("system", "operating system"),
                   member<&P::events>("events", "number of events"),
                   member<&P::samples>("samples", "number of stack samples"),
                   member<&P::threads>("threads", "number of threads"),
                   member<&P::container>("container", "id of its container")});
  return shape;
}

struct ProcessesAnswer {
  std::vector<RecordedProcess> processes{};
};
const Shape& shape_of(const ProcessesAnswer*) {
  static const auto shape = describe<ProcessesAnswer>(
      "ProcessesReport", "processes in a trace",
      {member<&ProcessesAnswer::processes>("processes", "processes, most samples first")});
  return shape;
}

class Processes final : public ReportOf<ProcessesAnswer> {
 public:
  explicit Processes(const ReportOptions& options) : options_(options) {}

  void on_batch(const nettrace::Reader& /*reader*/, const nettrace::Batch& batch) override {
    for (const Event& event : batch.events) {
      if (!current_ || event.process != current_id_ || event.thread != current_thread_) {
        current_ = &processes_[{trace_, event.process}];
        current_->threads.insert(event.thread);
        current_id_ = event.process;
        current_thread_ = event.thread;
      }
      ++current_->events;
      const auto provider = providers_.of(*event.type);
      if (is_sample(event, provider)) ++current_->samples;
      if (provider == Provider::kOther) {
        if (auto info = process_info(event)) {
          current_->name = name_of_command(info->command_line);
          current_->info = std::move(*info);
        }
      } else if (auto version = runtime_version(event, provider)) {
        current_->runtime = std::move(*version);
      } else if (auto name = universal_process_name(event, provider)) {
        current_->name = std::move(*name);
        current_->container = universal_container(event, provider).value_or("");
      }
    }
  }

  void end_of_trace(const nettrace::Reader& reader) override {
    for (const auto& declared : reader.threads())
      if (const auto found = processes_.find({trace_, declared.process}); found != processes_.end())
        found->second.threads.insert(declared.thread);
    ++trace_;
    current_ = nullptr;
    providers_.forget();
  }

  ProcessesAnswer result() const override {
    ProcessesAnswer answer;
    for (const auto* one : ranked()) {
      const auto& [key, process] = *one;
      auto& told =
          answer.processes.emplace_back(RecordedProcess{.pid = key.second,
                                                        .name = process.name,
                                                        .command_line = process.info.command_line,
                                                        .runtime = process.runtime,
                                                        .architecture = process.info.architecture,
                                                        .system = process.info.system,
                                                        .events = process.events,
                                                        .samples = process.samples,
                                                        .threads = process.threads.size()});
      if (!process.container.empty()) told.container = process.container;
    }
    return answer;
  }

  Document page() const override {
    Document page;
    const auto all = ranked();
    page.summary.push_back(
        fmt::format("{} process{}.", count_text(all.size()), all.size() == 1 ? "" : "es"));
    if (all.empty()) return page;
    const bool contained =
        std::ranges::any_of(all, [](auto* one) { return !one->second.container.empty(); });
    DocumentTable table{
        .columns = {">PID", "NAME", "RUNTIME", ">EVENTS", ">SAMPLES", ">THREADS", "COMMAND"},
        .keeps = "NAME"};
    if (contained) table.columns.insert(table.columns.end() - 1, "CONTAINER");
    const auto rows = std::min(all.size(), options_.rows != 0 ? options_.rows : 50);
    for (std::size_t i = 0; i < rows; ++i) {
      const auto& [key, process] = *all[i];
      table.rows.push_back({fmt::format("{}", static_cast<std::int32_t>(key.second)),
                            process.name.empty() ? "?" : process.name,
                            process.runtime.empty() ? "?" : process.runtime,
                            count_text(process.events), count_text(process.samples),
                            count_text(process.threads.size()), process.info.command_line});
      if (contained) table.rows.back().insert(table.rows.back().end() - 1, process.container);
    }
    if (rows < all.size())
      table.note = fmt::format("{} more: -n {}", all.size() - rows, all.size());
    page.tables.push_back(std::move(table));
    return page;
  }

 private:
  // The same number in two traces is two processes.
  using Key = std::pair<std::size_t, ProcessId>;

  std::vector<const std::pair<const Key, Process>*> ranked() const {
    std::vector<const std::pair<const Key, Process>*> all;
    for (const auto& one : processes_) all.push_back(&one);
    std::stable_sort(all.begin(), all.end(), [](auto* a, auto* b) {
      return std::pair{a->second.samples, a->second.events} >
             std::pair{b->second.samples, b->second.events};
    });
    return all;
  }

  ReportOptions options_;
  Providers providers_;
  std::map<Key, Process> processes_;
  std::size_t trace_ = 0;
  Process* current_ = nullptr;
  ProcessId current_id_{};
  ThreadId current_thread_{};
};

}  // namespace

extern const ReportKind processes_report =
    report_kind<Processes>("processes", "the processes in the trace, their runtime and size");

}  // namespace clrscope::analyze
