// Small files, whole writes, and waiting with a deadline.
#pragma once

#include <sys/types.h>

#include <string>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/result.h"

namespace clrscope {

// The whole of a small file such as those of /proc; more than `limit` bytes is an error.
Result<std::string> read_file(const std::string& path, std::size_t limit = 64 << 20);

// The rest of an open file, within the same kind of limit.
Result<std::string> read_open_file(int fd, std::size_t limit);

Result<UniqueFd> open_for_reading(const std::string& path);

// Writes all of it, whatever the kernel takes at a time.
Result<> write_all(int fd, Bytes bytes);
// The same at a place of the file; its position stays.
Result<> write_all_at(int fd, Bytes bytes, off_t at);

// True when the descriptor is readable (or closed by its peer) before the deadline.
Result<bool> wait_readable(int fd, const Deadline& deadline);

// Reads exactly bytes.size() bytes from a socket or pipe before the deadline.
Result<> read_exact(int fd, std::span<std::uint8_t> bytes, const Deadline& deadline);

}  // namespace clrscope
