#include "ops/report.h"

#include <fmt/format.h>

#include <map>
#include <set>

#include "analyze/process_names.h"
#include "analyze/providers.h"
#include "base/text.h"

namespace clrscope::ops {
namespace {

// Those of a file that have the name: it may be told at its end, so the file is read once more.
Result<std::set<ProcessId>> named_in(const std::string& file, const ReportRequest& request) {
  if (file == "-")
    return fail(Errc::kUsage, "--name requires a file that can be read twice")
        .hint("use -p PID, or a file instead of stdin");
  analyze::ProcessNames names;
  TRY(read_trace(file,
                 {.on_batch =
                      [&](const auto&, const nettrace::Batch& batch) {
                        for (const auto& event : batch.events) names.on_event(event);
                      },
                  .on_end = [](const auto&) {}},
                 {}, request.limits));
  std::set<ProcessId> found;
  for (const auto& [process, name] : names.all())
    if (glob_match(request.name, name)) found.insert(process);
  if (found.empty())
    return fail(Errc::kNotFound, "{} has no process named {}", file, request.name)
        .hint("run clrscope report {} processes to list them", file);
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

Result<TraceRead> read_chosen(const std::string& file, const ReportRequest& request,
                              analyze::Report& report) {
  std::set<ProcessId> chosen;
  for (const auto pid : request.pids) chosen.insert(ProcessId{pid});
  if (!request.name.empty()) chosen.merge(TRY(named_in(file, request)));
  Chooser chooser{report, std::move(chosen)};
  auto read = TRY(read_trace(
      file,
      {.on_batch = [&](const auto& reader, const auto& batch) { chooser.on_batch(reader, batch); },
       .on_end = [&](const auto& reader) { chooser.end_of_trace(reader); }},
      {}, request.limits));
  if (!chooser.seen())
    return fail(Errc::kNotFound, "{} has no events of process {}", file,
                fmt::join(request.pids, ", "))
        .hint("run clrscope report {} processes to list them", file);
  return read;
}

}  // namespace

Result<ReportAnswer> make_report(const ReportRequest& request) {
  ReportAnswer answer{.lines = std::make_unique<SourceLines>(
                          DebugFolders{.symbol_folder = request.lines.symbol_folder}),
                      .report = {},
                      .files = {}};
  auto options = request.options;
  if (request.lines.wanted) options.lines = answer.lines.get();
  answer.report = request.kind->make(options);
  const TraceVisitor visitor{
      .on_batch = [&](const auto& reader,
                      const auto& batch) { answer.report->on_batch(reader, batch); },
      .on_end = [&](const auto& reader) { answer.report->end_of_trace(reader); },
  };
  const bool all = request.pids.empty() && request.name.empty();
  for (const auto& file : request.files) {
    auto read = all ? read_trace(file, visitor, {}, request.limits)
                    : read_chosen(file, request, *answer.report);
    answer.files.push_back(TRY(std::move(read)));
  }
  return answer;
}

const Shape& shape_of(const ReportLosses*) {
  using L = ReportLosses;
  static const auto shape = clrscope::describe<L>(
      "ReportLosses", "what is missing in a trace",
      {member<&L::lost>("lost", "events lost; null if the file format does not record it"),
       member<&L::damaged>("damaged", "places in the file that could not be read"),
       member<&L::truncated>("truncated", "whether the end of the file is missing")});
  return shape;
}

ReportLosses ReportAnswer::losses() const {
  ReportLosses losses;
  std::uint64_t lost = 0;
  bool told = true;
  for (const auto& file : files) {
    told = told && file.tells_loss;
    lost += file.summary.lost;
    losses.damaged += file.summary.damaged;
    losses.truncated = losses.truncated || file.summary.truncated;
  }
  if (told) losses.lost = lost;
  return losses;
}

std::string ReportAnswer::json() const {
  JsonWriter json;
  json.begin_object();
  report->write_members(json);
  write_members(json, losses());
  json.end_object();
  return std::move(json).take() + "\n";
}

const Shape& report_shape(const analyze::ReportKind& kind) {
  static const auto all = [] {
    std::map<const analyze::ReportKind*, Shape> shapes;
    for (const auto* one : analyze::report_kinds()) {
      const auto& own = one->shape();
      std::vector<Member> members{own.members().begin(), own.members().end()};
      const auto losses = shape_for<ReportLosses>().members();
      members.insert(members.end(), losses.begin(), losses.end());
      shapes.try_emplace(one, own.name(), own.meaning(), std::move(members));
    }
    return shapes;
  }();
  return all.at(&kind);
}

const ValueShape& any_report() {
  static const ValueShape value{.kind = ValueShape::Kind::kAlternatives,
                                .alternatives = []() -> std::span<const ValueShape> {
                                  static const auto all = [] {
                                    std::vector<ValueShape> shapes;
                                    for (const auto* one : analyze::report_kinds())
                                      shapes.push_back({.kind = ValueShape::Kind::kObject,
                                                        .shape = &report_shape(*one),
                                                        .write = nullptr});
                                    return shapes;
                                  }();
                                  return all;
                                },
                                .write = nullptr};
  return value;
}

}  // namespace clrscope::ops
