#include "nettrace/trace_output.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"
#include "nettrace/framing.h"

namespace clrscope::nettrace {
namespace {

constexpr std::chrono::seconds kFlushEvery{1};
constexpr std::uint8_t kEndBlock[4] = {};

Bytes mark_of(TraceVersion version) {
  return version == TraceVersion::kV6 ? Bytes{kEndBlock} : Bytes{&nettrace::kNullTag, 1};
}

// Where writing begins, if any place of the file can be written.
std::optional<off_t> begin_of(int fd) {
  struct stat status {};
  if (::fstat(fd, &status) != 0 || !S_ISREG(status.st_mode)) return std::nullopt;
  if (const int flags = ::fcntl(fd, F_GETFL); flags < 0 || (flags & O_APPEND) != 0)
    return std::nullopt;
  const auto here = ::lseek(fd, 0, SEEK_CUR);
  return here < 0 ? std::nullopt : std::optional{here};
}

}  // namespace

TraceOutput::TraceOutput(int fd, Packing packing, TraceVersion version)
    : fd_(fd), mark_(mark_of(version)), flushed_(TraceClock::now()) {
  if (packing == Packing::kZstd)
    compressor_.emplace();
  else
    begin_ = begin_of(fd);
}

Result<> TraceOutput::put(Bytes bytes) {
  TRY(write_all(fd_, bytes));
  bytes_ += bytes.size();
  return {};
}

// A kill between any two steps, or within one, leaves a mark where the trace ends. Of the last
// step the byte that makes a block of the mark comes last; what it covers lies there by then.
Result<> TraceOutput::put_behind_mark(Bytes blocks) {
  const auto at = *begin_ + static_cast<off_t>(bytes_);
  const auto head = blocks.first(marked_ ? mark_.size() : 0);
  const auto rest = blocks.subspan(head.size());
  TRY(write_all_at(fd_, rest, at + static_cast<off_t>(head.size())));
  TRY(write_all_at(fd_, mark_, at + static_cast<off_t>(blocks.size())));
  TRY(write_all_at(fd_, head, at));
  bytes_ += blocks.size();
  marked_ = true;
  return {};
}

Result<> TraceOutput::write(Bytes blocks) {
  if (begin_) {
    auto done = blocks.empty() ? Result<>{} : put_behind_mark(blocks);
    if (!done) (void)cut();  // half a block helps nobody
    return done;
  }
  if (!compressor_) return put(blocks);
  TRY(compressor_->add(blocks, [this](Bytes packed) { return put(packed); }));
  waiting_ = true;
  return tick();
}

Result<> TraceOutput::tick() {
  const auto now = TraceClock::now();
  if (!waiting_ || now - flushed_ < kFlushEvery) return {};
  flushed_ = now;
  waiting_ = false;
  return compressor_->flush([this](Bytes packed) { return put(packed); });
}

Result<> TraceOutput::cut() {
  const auto end = *begin_ + static_cast<off_t>(bytes());
  if (::ftruncate(fd_, end) != 0 || ::lseek(fd_, end, SEEK_SET) < 0)
    return fail(errc_of(errno), "cannot finish the file: {}", errno_text());
  return {};
}

Result<> TraceOutput::finish() {
  waiting_ = false;
  if (compressor_) return compressor_->finish([this](Bytes packed) { return put(packed); });
  marked_ = false;  // the trace has its own
  return begin_ ? cut() : Result<>{};
}

Result<> TraceOutput::finish_early() {
  if (begin_) return cut();
  TRY(write(mark_));
  return finish();
}

}  // namespace clrscope::nettrace
