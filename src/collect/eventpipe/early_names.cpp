#include "collect/eventpipe/early_names.h"

#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <condition_variable>
#include <mutex>
#include <vector>

#include "base/io.h"
#include "base/log.h"
#include "base/temp_file.h"
#include "ipc/commands.h"

namespace clrscope::collect {
namespace {

constexpr std::chrono::seconds kPatience{30};    // for the whole rundown of a large application
constexpr std::chrono::milliseconds kLook{100};  // how soon a stop is noticed

// Any provider will do: it is asked for nothing.
ipc::SessionConfig names_only() {
  return {.buffer_mb = 64,
          .providers = {{.name = "Microsoft-DotNETCore-EventPipe",
                         .keywords = 0,
                         .level = ipc::Level::kCritical}}};
}

void sleep_unless_stopped(std::stop_token stop, std::chrono::nanoseconds time) {
  std::mutex mutex;
  std::condition_variable_any never;
  std::unique_lock lock{mutex};
  never.wait_for(lock, stop, time, [] { return false; });
}

Result<> copy_stream(std::stop_token stop, int from, int to) {
  const Deadline deadline{kPatience};
  std::vector<std::uint8_t> chunk(64 * 1024);
  while (!stop.stop_requested() && !deadline.passed()) {
    if (!TRY(wait_readable(from, Deadline{kLook}))) continue;
    const auto got = ::read(from, chunk.data(), chunk.size());
    if (got <= 0) return {};
    TRY(write_all(to, Bytes{chunk}.first(static_cast<std::size_t>(got))));
  }
  return fail(Errc::kTimeout, "the early method names did not come in time");
}

Result<> collect_names(std::stop_token stop, ipc::Endpoint& runtime, int file) {
  const auto session = TRY(ipc::start_tracing(runtime, names_only()));
  std::jthread stopper{[&] { (void)ipc::stop_tracing(runtime, session.id, kPatience); }};
  auto copied = copy_stream(stop, session.stream.get(), file);
  ::shutdown(session.stream.get(), SHUT_RDWR);
  return copied;
}

}  // namespace

EarlyNames::EarlyNames(ipc::Endpoint& runtime, std::string folder, std::chrono::nanoseconds delay)
    : runtime_(runtime),
      folder_(std::move(folder)),
      worker_([this, delay](std::stop_token stop) { run(stop, delay); }) {}

EarlyNames::~EarlyNames() {
  worker_ = {};
  if (mapped_) ::munmap(mapped_, size_);
}

void EarlyNames::run(std::stop_token stop, std::chrono::nanoseconds delay) {
  sleep_unless_stopped(stop, delay);
  if (stop.stop_requested()) return;
  auto file = open_temp_file(folder_);
  if (!file) return log(LogLevel::kDebug, "no early names: {}", file.error().what);
  if (const auto done = collect_names(stop, runtime_, file->get()); !done)
    log(LogLevel::kDebug, "early names: {}", done.error().what);
  file_ = std::move(*file);
}

Bytes EarlyNames::take() {
  worker_ = {};
  struct stat status {};
  if (!file_ || ::fstat(file_.get(), &status) != 0 || status.st_size == 0) return {};
  size_ = static_cast<std::size_t>(status.st_size);
  void* mapped = ::mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, file_.get(), 0);
  if (mapped == MAP_FAILED) return {};
  mapped_ = mapped;
  return {static_cast<const std::uint8_t*>(mapped_), size_};
}

}  // namespace clrscope::collect
