#include "ops/report.h"

namespace clrscope::ops {

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
  for (const auto& file : wish.files)
    answer.files.push_back(TRY(read_trace(file, visitor, {}, wish.limits)));
  return answer;
}

std::string ReportAnswer::json() const {
  std::uint64_t lost = 0;
  std::uint64_t damaged = 0;
  bool truncated = false;
  for (const auto& file : files) {
    lost += file.summary.lost;
    damaged += file.summary.damaged;
    truncated = truncated || file.summary.truncated;
  }
  JsonWriter json;
  json.begin_object();
  report->write_members(json);
  json.member("lost", lost).member("damaged", damaged).member("truncated", truncated).end_object();
  return std::move(json).take() + "\n";
}

}  // namespace clrscope::ops
