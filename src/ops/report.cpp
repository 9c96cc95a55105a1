#include "ops/report.h"

#include <fmt/format.h>

#include <set>

#include "analyze/process_names.h"
#include "analyze/providers.h"
#include "base/text.h"

namespace clrscope::ops {
namespace {

// Those of a file that have the name: it may be told at its end, so the file is read once more.
Result<std::set<ProcessId>> named_in(const std::string& file, const ReportWish& wish) {
  if (file == "-")
    return fail(Errc::kUsage, "--name needs a file that can be read twice")
        .hint("-p PID, or a file");
  analyze::ProcessNames names;
  TRY(read_trace(file,
                 {.on_batch =
                      [&](const auto&, const nettrace::Batch& batch) {
                        for (const auto& event : batch.events) names.on_event(event);
                      },
                  .on_end = [](const auto&) {}},
                 {}, wish.limits));
  std::set<ProcessId> found;
  for (const auto& [process, name] : names.all())
    if (glob_match(wish.name, name)) found.insert(process);
  if (found.empty())
    return fail(Errc::kNotFound, "{} has no process named {}", file, wish.name)
        .hint("clrscope report {} processes lists them", file);
  return found;
}

// Hands over the events of some processes only, and those that name code: a file that several
// processes have mapped is described once.
class Chooser {
 public:
  Chooser(analyze::Report& report, std::set<ProcessId> chosen)
      : report_(report), chosen_(std::move(chosen)) {}

  void on_batch(const nettrace::Reader& reader, const nettrace::Batch& batch) {
    events_.clear();
    for (const auto& event : batch.events) {
      const bool chosen = chosen_.contains(event.process);
      seen_ = seen_ || chosen;
      if (chosen || names_code(event)) events_.push_back(event);
    }
    report_.on_batch(reader, {.events = events_, .sequence_point = batch.sequence_point});
  }
  void end_of_trace(const nettrace::Reader& reader) { report_.end_of_trace(reader); }
  bool seen() const { return seen_; }

 private:
  bool names_code(const Event& event) {
    constexpr std::uint32_t kLastOfProcesses = 2;  // created, exists, exited; mappings follow
    const auto provider = providers_.of(*event.type);
    return provider == analyze::Provider::kSymbols ||
           (provider == analyze::Provider::kUniversalSystem && event.type->id > kLastOfProcesses);
  }

  analyze::Report& report_;
  const std::set<ProcessId> chosen_;
  analyze::Providers providers_;
  std::vector<Event> events_;
  bool seen_ = false;
};

Result<TraceRead> read_chosen(const std::string& file, const ReportWish& wish,
                              analyze::Report& report) {
  std::set<ProcessId> chosen;
  for (const auto pid : wish.pids) chosen.insert(ProcessId{pid});
  if (!wish.name.empty()) chosen.merge(TRY(named_in(file, wish)));
  Chooser chooser{report, std::move(chosen)};
  auto read = TRY(read_trace(
      file,
      {.on_batch = [&](const auto& reader, const auto& batch) { chooser.on_batch(reader, batch); },
       .on_end = [&](const auto& reader) { chooser.end_of_trace(reader); }},
      {}, wish.limits));
  if (!chooser.seen())
    return fail(Errc::kNotFound, "{} has no event of process {}", file, fmt::join(wish.pids, ", "))
        .hint("clrscope report {} processes lists them", file);
  return read;
}

}  // namespace

Result<ReportAnswer> make_report(const ReportWish& wish) {
  ReportAnswer answer{.lines = std::make_unique<SourceLines>(
                          DebugFolders{.symbol_folder = wish.lines.symbol_folder}),
                      .report = {},
                      .files = {}};
  auto options = wish.options;
  if (wish.lines.wanted) options.lines = answer.lines.get();
  answer.report = wish.kind->make(options);
  const TraceVisitor visitor{
      .on_batch = [&](const auto& reader,
                      const auto& batch) { answer.report->on_batch(reader, batch); },
      .on_end = [&](const auto& reader) { answer.report->end_of_trace(reader); },
  };
  const bool all = wish.pids.empty() && wish.name.empty();
  for (const auto& file : wish.files) {
    auto read =
        all ? read_trace(file, visitor, {}, wish.limits) : read_chosen(file, wish, *answer.report);
    answer.files.push_back(TRY(std::move(read)));
  }
  return answer;
}

std::string ReportAnswer::json() const {
  std::uint64_t lost = 0;
  std::uint64_t damaged = 0;
  bool truncated = false;
  bool told = true;
  for (const auto& file : files) {
    told = told && file.tells_loss;
    lost += file.summary.lost;
    damaged += file.summary.damaged;
    truncated = truncated || file.summary.truncated;
  }
  JsonWriter json;
  json.begin_object();
  report->write_members(json);
  json.key("lost");
  told ? json.value(lost) : json.null();
  json.member("damaged", damaged).member("truncated", truncated).end_object();
  return std::move(json).take() + "\n";
}

}  // namespace clrscope::ops
