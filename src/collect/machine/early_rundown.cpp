#include "collect/machine/early_rundown.h"

#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <filesystem>

#include "base/io.h"
#include "base/temp_file.h"

namespace clrscope::collect {
namespace {

constexpr std::chrono::seconds kPatience{1};  // the kernel's rings fill meanwhile
constexpr std::size_t kChunk = 64 << 10;
constexpr int kMostChunks = 32;  // in one go

}  // namespace

Result<std::unique_ptr<EarlyRundown>> EarlyRundown::start(ipc::Endpoint& runtime, pid_t pid,
                                                          Rundown what) {
  std::error_code none;
  const auto folder = std::filesystem::temp_directory_path(none);
  auto file = TRY(open_temp_file(none ? "/tmp" : folder.string()));
  auto session = TRY(start_rundown(runtime, what, kPatience));
  return std::unique_ptr<EarlyRundown>{
      new EarlyRundown{runtime, std::move(session), std::move(file), pid}};
}

EarlyRundown::EarlyRundown(ipc::Endpoint& runtime, ipc::Session session, UniqueFd file, pid_t pid)
    : session_(std::move(session)), file_(std::move(file)), end_(runtime, session_.id, pid) {
  end_.ask();
}

void EarlyRundown::read() {
  std::array<std::uint8_t, kChunk> chunk;
  for (int i = 0; i < kMostChunks && session_.stream; ++i) {
    const auto got = ::recv(session_.stream.get(), chunk.data(), chunk.size(), MSG_DONTWAIT);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (got <= 0) {
      ended_ = got == 0;
      session_.stream.reset();
    } else if (!write_all(file_.get(), Bytes{chunk}.first(static_cast<std::size_t>(got)))) {
      session_.stream.reset();  // no room for it: the recording itself matters more
    }
  }
}

Result<bool> EarlyRundown::replay_some(off_t& at, nettrace::Reader& reader,
                                       const nettrace::OnBatch& take) const {
  std::array<std::uint8_t, kChunk> chunk;
  const auto got = ::pread(file_.get(), chunk.data(), chunk.size(), at);
  if (got < 0 && errno == EINTR) return true;
  if (got <= 0) {
    (void)reader.finish(take);  // a missing end is no harm here
    return false;
  }
  TRY(reader.feed(Bytes{chunk}.first(static_cast<std::size_t>(got)), take));
  at += got;
  return true;
}

Result<> EarlyRundown::replay(nettrace::Reader& reader, const nettrace::OnBatch& take) const {
  for (off_t at = 0; TRY(replay_some(at, reader, take));) {
  }
  return {};
}

}  // namespace clrscope::collect
