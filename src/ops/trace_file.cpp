#include "ops/trace_file.h"

#include <fmt/format.h>

#include "analyze/losses.h"
#include "base/text.h"
#include "ops/trace_bytes.h"

namespace clrscope::ops {
Result<TraceRead> read_trace(const std::string& path, const TraceVisitor& visitor,
                             const OnTraceProgress& on_progress, const TraceLimits& limits) {
  nettrace::Reader reader;
  const nettrace::OnBatch on_batch = [&](const nettrace::Batch& batch) {
    visitor.on_batch(reader, batch);
  };
  const auto named = [&](Result<> result) -> Result<> {
    if (result) return {};
    auto error = std::move(result).error();
    error.what = fmt::format("{}: {}", display_name(path), error.what);
    return fail(std::move(error));
  };
  bool refused = false;  // by the reader, not by the compression
  const auto feed = [&](Bytes bytes) {
    auto fed = named(reader.feed(bytes, on_batch));
    if (fed && visitor.on_chunk) fed = visitor.on_chunk();
    refused = !fed;
    return fed;
  };
  const auto fed = read_trace_bytes(path, feed, on_progress, limits);
  const bool unpacked_in_part =
      !fed && !refused && fed.error().code == Errc::kCorrupt && reader.summary().bytes > 0;
  if (!fed && !unpacked_in_part) return fail(fed.error());
  TRY(named(reader.finish(on_batch)));
  if (visitor.on_end) visitor.on_end(reader);
  const auto damage = reader.damage();
  TraceRead read{.path = path,
                 .summary = reader.summary(),
                 .damage = {damage.begin(), damage.end()},
                 .tells_loss = !reader.info() || analyze::tells_loss(*reader.info())};
  if (unpacked_in_part) {
    read.damage.push_back({reader.summary().bytes, fed.error().what});
    read.summary.truncated = true;
    ++read.summary.damaged;
  }
  return read;
}

std::string damage_line(const TraceRead& read) {
  const auto& summary = read.summary;
  std::string line;
  if (summary.damaged > 0)
    line = fmt::format("{} damaged piece{}, {} skipped (first at byte {}: {})", summary.damaged,
                       summary.damaged == 1 ? "" : "s", format_bytes(summary.skipped_bytes),
                       read.damage.empty() ? 0 : read.damage[0].offset,
                       read.damage.empty() ? "" : read.damage[0].what);
  if (summary.truncated)
    line += fmt::format("{}the end is missing: read up to the last complete event",
                        line.empty() ? "" : "; ");
  if (summary.undefined > 0)
    line += fmt::format("{}{} events of undeclared types left out", line.empty() ? "" : "; ",
                        format_count(summary.undefined));
  return line.empty() ? line : fmt::format("{}: {}", display_name(read.path), line);
}

}  // namespace clrscope::ops
