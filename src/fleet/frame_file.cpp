#include "fleet/frame_file.h"

#include <fcntl.h>
#include <unistd.h>

#include "base/io.h"
#include "base/log.h"
#include "base/private_folder.h"
#include "fleet/convert.h"
#include "uplink/frame.h"

namespace clrscope::fleet {

Result<FrameFile> FrameFile::create(const std::string& path) {
  if (path.empty())
    return fail(Errc::kUsage, "--to {} requires a path", kScheme)
        .hint("for example --to file:shop.frames");
  UniqueFd file{::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, kFileMode)};
  if (!file)
    return fail(errc_of(errno), "cannot create {}: {}", path, errno_text())
        .hint("name a file that does not exist, in a folder that you may write to");
  return FrameFile{std::move(file), path};
}

Result<> FrameFile::append(std::string_view frame) {
  const auto written = write_all_at(file_.get(), as_bytes(frame), static_cast<off_t>(size_));
  if (!written) return fail(Errc::kSystem, "cannot write to {}: {}", path_, written.error().what);
  size_ += frame.size();
  return {};
}

void FrameFile::add(std::string_view batch) {
  const auto outline = outline_of(batch);
  if (!outline) {
    ++state_.malformed;
    log(LogLevel::kWarning, "a frame was dropped: {}", outline.error().what);
    return;
  }
  ++state_.batches;
  state_.requests += outline->requests;
  state_.spans += outline->spans;
  state_.samples += outline->samples;
  // After a failure nothing more is written: a recording has no gaps.
  const auto done = state_.trouble.empty()
                        ? append(uplink::frame_of(uplink::FrameKind::kBatch, batch))
                        : Result<>{fail(Errc::kSystem, "{}", state_.trouble)};
  if (done) {
    ++state_.delivered;
    return;
  }
  if (state_.trouble.empty()) log_error(done.error());
  state_.trouble = done.error().what;
  ++state_.dropped;
  state_.lost_requests += outline->requests;
  state_.lost_spans += outline->spans;
  state_.lost_samples += outline->samples;
}

RelayState FrameFile::finish() {
  if (!state_.trouble.empty()) {
    (void)::ftruncate(file_.get(), static_cast<off_t>(size_));  // without half a frame
  } else if (const auto done = append(uplink::frame_of(uplink::FrameKind::kEnd, {})); !done) {
    log_error(done.error());
    state_.trouble = done.error().what;
  }
  return state_;
}

}  // namespace clrscope::fleet
