#include "nettrace/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <vector>

#include "base/decompress.h"
#include "base/fd.h"
#include "base/io.h"

namespace clrscope::nettrace {
namespace {

constexpr std::size_t kPiece = 512 << 10;

Error named(const std::string& path, Error error) {
  error.what = fmt::format("{}: {}", path, error.what);
  return error;
}

Result<UniqueFd> open_trace(const std::string& path) {
  auto fd = TRY(open_for_reading(path));
  struct stat status {};
  if (::fstat(fd.get(), &status) != 0)
    return fail(errc_of(errno), "cannot look at {}: {}", path, errno_text());
  if (S_ISDIR(status.st_mode))
    return fail(Errc::kUsage, "{} is a folder", path).hint("give a .nettrace file");
  ::posix_fadvise(fd.get(), 0, 0, POSIX_FADV_SEQUENTIAL);
  return fd;
}

}  // namespace

Result<FileEnd> read_trace_bytes(const std::string& path,
                                 const std::function<Result<>(Bytes)>& on_bytes) {
  UniqueFd opened;
  int fd = STDIN_FILENO;
  if (path != "-") {
    opened = TRY(open_trace(path));
    fd = opened.get();
  }
  Decompressor decompressor;
  std::vector<std::uint8_t> piece(kPiece);
  FileEnd end;
  while (true) {
    const auto count = ::read(fd, piece.data(), piece.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return fail(errc_of(errno), "cannot read {}: {}", path, errno_text());
    if (count == 0) break;
    end.bytes += static_cast<std::uint64_t>(count);
    TRY(decompressor.feed(Bytes{piece}.first(static_cast<std::size_t>(count)), on_bytes));
  }
  end.cut_short = !TRY(decompressor.finish(on_bytes));
  return end;
}

Result<FileEnd> read_trace_file(const std::string& path, Reader& reader, const OnBatch& on_batch) {
  bool refused = false;  // by the reader, not by the compression
  const auto fed = read_trace_bytes(path, [&](Bytes bytes) -> Result<> {
    auto result = reader.feed(bytes, on_batch);
    refused = !result;
    return result;
  });
  const bool damaged = !fed && !refused && fed.error().code == Errc::kCorrupt;
  if (!fed && !damaged) {
    if (refused) return fail(named(path, fed.error()));
    return fail(fed.error());
  }
  if (auto finished = reader.finish(on_batch); !finished)
    return fail(named(path, damaged ? fed.error() : finished.error()));
  if (damaged) return FileEnd{.cut_short = true};
  return *fed;
}

}  // namespace clrscope::nettrace
