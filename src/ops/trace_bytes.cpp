#include "ops/trace_bytes.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <ctime>
#include <memory>

#include "base/decompress.h"
#include "base/io.h"
#include "base/text.h"

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
    return fail(opened.error()).hint("give a readable trace; clrscope collect records one");
  TraceFile file{std::move(*opened)};
  struct ::stat info {};
  if (::fstat(file.fd.get(), &info) != 0)
    return fail(Errc::kSystem, "cannot access {}: {}", path, errno_text());
  if (S_ISDIR(info.st_mode))
    return fail(Errc::kUsage, "{} is a directory", path)
        .hint("give the traces in it: {}/*.nettrace", path);
  if (S_ISREG(info.st_mode)) file.size = static_cast<std::uint64_t>(info.st_size);
  (void)::posix_fadvise(file.fd.get(), 0, 0, POSIX_FADV_SEQUENTIAL);
  return file;
}

std::chrono::nanoseconds cpu_time() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return std::chrono::seconds{now.tv_sec} + std::chrono::nanoseconds{now.tv_nsec};
}

// Counts what comes out of a trace.
class Meter {
 public:
  Meter(const std::string& path, const TraceLimits& limits) : path_(path), limits_(limits) {}

  Result<> add(std::size_t bytes) {
    bytes_ += bytes;
    if (limits_.gone && limits_.gone())
      return fail(Errc::kGone, "{}: the request was cancelled", display_name(path_));
    if (limits_.bytes != 0 && bytes_ > limits_.bytes)
      return fail(Errc::kTooLarge, "{}: expands to more than {}", display_name(path_),
                  format_bytes(limits_.bytes))
          .hint(
              "this is the limit \"expanded bytes\" of serve; download the trace and read it with "
              "clrscope locally");
    if (limits_.cpu.count() != 0 && cpu_time() - began_ > limits_.cpu)
      return fail(Errc::kTooLarge, "{}: takes more than {} s of CPU time to read",
                  display_name(path_),
                  std::chrono::duration_cast<std::chrono::seconds>(limits_.cpu).count())
          .hint(
              "this is the limit \"CPU time\" of serve; download the trace and read it with "
              "clrscope locally");
    return {};
  }

 private:
  const std::string& path_;
  const TraceLimits& limits_;
  const std::chrono::nanoseconds began_ = cpu_time();
  std::uint64_t bytes_ = 0;
};

}  // namespace

Result<> check_samples(const std::string& path, std::uint64_t samples, const TraceLimits& limits) {
  if (limits.samples == 0 || samples <= limits.samples) return {};
  return fail(Errc::kTooLarge, "{}: has more than {} samples", display_name(path),
              format_count(limits.samples))
      .hint(
          "this is the limit \"samples\" of serve; download the trace and read it with clrscope "
          "locally");
}

std::string display_name(const std::string& path) { return path == "-" ? "standard input" : path; }

Result<> read_trace_bytes(const std::string& path, const OnTraceBytes& on_bytes,
                          const OnTraceProgress& on_progress, const TraceLimits& limits) {
  const auto file = TRY(open_trace(path));
  const auto buffer = std::make_unique<std::uint8_t[]>(kChunk);
  std::uint64_t done = 0;
  Decompressor decompressor;
  Meter meter{path, limits};
  const auto metered = [&](Bytes bytes) -> Result<> {
    TRY(meter.add(bytes.size()));
    return on_bytes(bytes);
  };
  for (;;) {
    const auto got = ::read(file.fd.get(), buffer.get(), kChunk);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return fail(Errc::kSystem, "cannot read {}: {}", display_name(path), errno_text());
    if (got == 0) break;
    TRY(decompressor.feed({buffer.get(), static_cast<std::size_t>(got)}, metered));
    done += static_cast<std::uint64_t>(got);
    if (on_progress) on_progress(done, file.size);
  }
  if (done == 0)
    return fail(Errc::kCorrupt, "{} is empty", display_name(path))
        .hint("wait until the recording has written data, or record again");
  // One that was cut short ends where it ends: whoever reads the trace sees that its end is
  // missing.
  (void)TRY(decompressor.finish(metered));
  return {};
}

}  // namespace clrscope::ops
