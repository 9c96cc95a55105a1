#include "base/io.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>

namespace clrscope {

Result<UniqueFd> open_for_reading(const std::string& path) {
  UniqueFd fd{::open(path.c_str(), O_RDONLY | O_CLOEXEC)};
  if (!fd) return fail(errc_of(errno), "cannot open {}: {}", path, errno_text());
  return fd;
}

Result<std::string> read_file(const std::string& path, std::size_t limit) {
  const auto fd = TRY(open_for_reading(path));
  auto text = read_open_file(fd.get(), limit);
  if (!text) return fail(text.error().code, "{}: {}", path, text.error().what);
  return text;
}

Result<std::string> read_open_file(int fd, std::size_t limit) {
  std::string content;
  for (;;) {
    const auto used = content.size();
    content.resize(used + 4096);
    const auto got = ::read(fd, content.data() + used, content.size() - used);
    if (got < 0 && errno == EINTR) {
      content.resize(used);
      continue;
    }
    if (got < 0) return fail(errc_of(errno), "cannot read: {}", errno_text());
    content.resize(used + static_cast<std::size_t>(got));
    if (got == 0) return content;
    if (content.size() > limit) return fail(Errc::kCorrupt, "has more than {} bytes", limit);
  }
}

Result<> write_all(int fd, Bytes bytes) {
  while (!bytes.empty()) {
    const auto written = ::write(fd, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return fail(errc_of(errno), "cannot write: {}", errno_text());
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
  return {};
}

Result<> write_all_at(int fd, Bytes bytes, off_t at) {
  while (!bytes.empty()) {
    const auto written = ::pwrite(fd, bytes.data(), bytes.size(), at);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return fail(errc_of(errno), "cannot write: {}", errno_text());
    bytes = bytes.subspan(static_cast<std::size_t>(written));
    at += written;
  }
  return {};
}

Result<bool> wait_readable(int fd, const Deadline& deadline) {
  for (;;) {
    pollfd waiting{fd, POLLIN, 0};
    const int ready = ::poll(&waiting, 1, deadline.poll_timeout());
    if (ready > 0) return true;
    if (ready == 0) return false;
    if (errno != EINTR) return fail(Errc::kSystem, "cannot poll: {}", errno_text());
  }
}

Result<> read_exact(int fd, std::span<std::uint8_t> bytes, const Deadline& deadline) {
  std::size_t filled = 0;
  while (filled < bytes.size()) {
    if (!TRY(wait_readable(fd, deadline)))
      return fail(Errc::kTimeout, "no answer in time ({} of {} bytes came)", filled, bytes.size());
    const auto got = ::read(fd, bytes.data() + filled, bytes.size() - filled);
    if (got < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (got < 0) return fail(Errc::kGone, "the connection broke: {}", errno_text());
    if (got == 0)
      return fail(Errc::kGone, "the peer closed the connection ({} of {} bytes came)", filled,
                  bytes.size());
    filled += static_cast<std::size_t>(got);
  }
  return {};
}

}  // namespace clrscope
