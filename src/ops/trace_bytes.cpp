#include "ops/trace_bytes.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <memory>

#include "base/decompress.h"
#include "base/io.h"

namespace clrscope::ops {
namespace {

constexpr std::size_t kChunk = 1 << 20;

struct TraceFile {
  UniqueFd fd;
  std::uint64_t size = 0;  // 0: not known
};

Result<TraceFile> open_trace(const std::string& path) {
  auto opened =
      path == "-" ? Result<UniqueFd>{UniqueFd{::dup(STDIN_FILENO)}} : open_for_reading(path);
  if (!opened)
    return fail(opened.error()).hint("name a trace that can be read; clrscope collect writes one");
  TraceFile file{std::move(*opened)};
  struct ::stat info {};
  if (::fstat(file.fd.get(), &info) != 0)
    return fail(Errc::kSystem, "cannot look at {}: {}", path, errno_text());
  if (S_ISDIR(info.st_mode))
    return fail(Errc::kUsage, "{} is a directory", path)
        .hint("name the traces in it: {}/*.nettrace", path);
  if (S_ISREG(info.st_mode)) file.size = static_cast<std::uint64_t>(info.st_size);
  (void)::posix_fadvise(file.fd.get(), 0, 0, POSIX_FADV_SEQUENTIAL);
  return file;
}

}  // namespace

std::string display_name(const std::string& path) { return path == "-" ? "standard input" : path; }

Result<> read_trace_bytes(const std::string& path, const OnTraceBytes& on_bytes,
                          const OnTraceProgress& on_progress) {
  const auto file = TRY(open_trace(path));
  const auto buffer = std::make_unique<std::uint8_t[]>(kChunk);
  std::uint64_t done = 0;
  Decompressor decompressor;
  for (;;) {
    const auto got = ::read(file.fd.get(), buffer.get(), kChunk);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return fail(Errc::kSystem, "cannot read {}: {}", display_name(path), errno_text());
    if (got == 0) break;
    TRY(decompressor.feed({buffer.get(), static_cast<std::size_t>(got)}, on_bytes));
    done += static_cast<std::uint64_t>(got);
    if (on_progress) on_progress(done, file.size);
  }
  if (done == 0)
    return fail(Errc::kCorrupt, "{} is empty", display_name(path))
        .hint("the recording has not written anything yet, or was ended before it began");
  // One that was cut short ends where it ends: whoever reads the trace sees that its end is
  // missing.
  (void)TRY(decompressor.finish(on_bytes));
  return {};
}

}  // namespace clrscope::ops
