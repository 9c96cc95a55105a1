#include "ops/trace_file.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <memory>

#include "base/io.h"
#include "base/text.h"

namespace clrscope::ops {
namespace {

constexpr std::size_t kChunk = 1 << 20;

Result<UniqueFd> open_trace(const std::string& path) {
  auto fd = path == "-" ? UniqueFd{::dup(STDIN_FILENO)} : TRY(open_for_reading(path));
  struct ::stat info {};
  if (::fstat(fd.get(), &info) != 0)
    return fail(Errc::kSystem, "cannot look at {}: {}", path, errno_text());
  if (S_ISDIR(info.st_mode))
    return fail(Errc::kUsage, "{} is a directory", path)
        .hint("name the traces in it: {}/*.nettrace", path);
  return fd;
}

std::string display_name(const std::string& path) { return path == "-" ? "standard input" : path; }

}  // namespace

Result<TraceRead> read_trace(const std::string& path, const TraceVisitor& visitor) {
  const auto fd = TRY(open_trace(path));
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
  const auto buffer = std::make_unique<std::uint8_t[]>(kChunk);
  for (;;) {
    const auto got = ::read(fd.get(), buffer.get(), kChunk);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return fail(Errc::kSystem, "cannot read {}: {}", display_name(path), errno_text());
    if (got == 0) break;
    TRY(named(reader.feed({buffer.get(), static_cast<std::size_t>(got)}, on_batch)));
  }
  if (reader.summary().bytes == 0)
    return fail(Errc::kCorrupt, "{} is empty", display_name(path))
        .hint("the recording has not written anything yet, or was ended before it began");
  TRY(named(reader.finish(on_batch)));
  if (visitor.on_end) visitor.on_end(reader);
  const auto damage = reader.damage();
  return TraceRead{path, reader.summary(), {damage.begin(), damage.end()}};
}

std::string damage_line(const TraceRead& read) {
  const auto& summary = read.summary;
  std::string line;
  if (summary.damaged > 0)
    line = fmt::format("{} damaged piece{} skipped ({}; first at byte {}: {})", summary.damaged,
                       summary.damaged == 1 ? "" : "s", format_bytes(summary.skipped_bytes),
                       read.damage.empty() ? 0 : read.damage[0].offset,
                       read.damage.empty() ? "" : read.damage[0].what);
  if (summary.truncated)
    line += fmt::format("{}the end is missing: read up to the last whole event",
                        line.empty() ? "" : "; ");
  if (summary.undefined > 0)
    line += fmt::format("{}{} events of undeclared types left out", line.empty() ? "" : "; ",
                        format_count(summary.undefined));
  return line.empty() ? line : fmt::format("{}: {}", display_name(read.path), line);
}

}  // namespace clrscope::ops
