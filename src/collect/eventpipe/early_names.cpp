#include "collect/eventpipe/early_names.h"

#include <poll.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <condition_variable>
#include <mutex>
#include <vector>

#include "base/io.h"
#include "base/log.h"
#include "base/temp_file.h"

namespace clrscope::collect {

// One session's stream on its way into an unlinked file.
class NamesFile {
 public:
  NamesFile(ipc::Session session, UniqueFd file)
      : session_(std::move(session)), file_(std::move(file)) {}
  ~NamesFile() {
    if (mapped_) ::munmap(mapped_, size_);
  }
  NamesFile(const NamesFile&) = delete;
  NamesFile& operator=(const NamesFile&) = delete;

  int stream() const {
    return session_.stream.get();
  }  // -1 once it has ended: poll() then skips it
  std::uint64_t session_id() const { return session_.id; }
  void close() { session_.stream.reset(); }

  void read_some() {
    std::array<std::uint8_t, 64 << 10> chunk;
    const auto got = ::read(stream(), chunk.data(), chunk.size());
    if (got < 0 && errno == EINTR) return;
    if (got <= 0 || !write_all(file_.get(), Bytes{chunk}.first(static_cast<std::size_t>(got))))
      close();
  }

  Bytes map() {
    struct stat status {};
    if (mapped_ || ::fstat(file_.get(), &status) != 0 || status.st_size == 0) return {};
    size_ = static_cast<std::size_t>(status.st_size);
    void* mapped = ::mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, file_.get(), 0);
    if (mapped == MAP_FAILED) return {};
    mapped_ = mapped;
    return {static_cast<const std::uint8_t*>(mapped_), size_};
  }

 private:
  ipc::Session session_;
  UniqueFd file_;
  void* mapped_ = nullptr;
  std::size_t size_ = 0;
};

namespace {

constexpr std::chrono::seconds kPatience{30};    // for the whole rundown of a large application
constexpr std::chrono::milliseconds kLook{100};  // how soon a stop is noticed

// Loader, JIT and NGEN, verbose: that is where the names are.
ipc::SessionConfig loads_only(bool stacks) {
  return {.buffer_mb = 16,
          .rundown_keyword = 0,
          .stacks = stacks,
          .providers = {{.name = "Microsoft-Windows-DotNETRuntime",
                         .keywords = 0x38,
                         .level = ipc::Level::kVerbose}}};
}

void sleep_unless_stopped(std::stop_token stop, std::chrono::nanoseconds time) {
  std::mutex mutex;
  std::condition_variable_any never;
  std::unique_lock lock{mutex};
  never.wait_for(lock, stop, time, [] { return false; });
}

Result<std::unique_ptr<NamesFile>> open_names(ipc::Endpoint& runtime,
                                              const ipc::SessionConfig& config,
                                              const std::string& folder) {
  auto file = TRY(open_temp_file(folder));
  auto session = TRY(ipc::start_tracing(runtime, config));
  return std::make_unique<NamesFile>(std::move(session), std::move(file));
}

}  // namespace

// Any provider will do: it is asked for nothing.
ipc::SessionConfig rundown_only() {
  return {.buffer_mb = 64,
          .providers = {{.name = "Microsoft-DotNETCore-EventPipe",
                         .keywords = 0,
                         .level = ipc::Level::kCritical}}};
}

EarlyNames::EarlyNames(ipc::Endpoint& runtime, std::string folder, std::chrono::nanoseconds delay)
    : runtime_(runtime),
      folder_(std::move(folder)),
      worker_([this, delay](std::stop_token stop) { run(stop, delay); }) {}

EarlyNames::~EarlyNames() { worker_ = {}; }

void EarlyNames::run(std::stop_token stop, std::chrono::nanoseconds delay) {
  sleep_unless_stopped(stop, delay);
  if (stop.stop_requested()) return;
  // What is loaded between the two is in both.
  auto later = open_names(runtime_, loads_only(false), folder_);
  if (!later && later.error().code == Errc::kUnsupported)
    later = open_names(runtime_, loads_only(true), folder_);
  auto before = open_names(runtime_, rundown_only(), folder_);
  if (!later || !before) {
    log(LogLevel::kDebug, "no early names: {}", (later ? before.error() : later.error()).what);
    return;
  }
  later_ = std::move(*later);
  before_ = std::move(*before);
  const std::jthread stopper{
      [this] { (void)ipc::stop_tracing(runtime_, before_->session_id(), kPatience); }};
  while (!stop.stop_requested()) {
    pollfd waiting[] = {{before_->stream(), POLLIN, 0}, {later_->stream(), POLLIN, 0}};
    if (::poll(waiting, 2, static_cast<int>(kLook.count())) <= 0) continue;
    if (waiting[0].revents != 0) before_->read_some();
    if (waiting[1].revents != 0) later_->read_some();
  }
  before_->close();
  later_->close();
}

EarlyNames::Traces EarlyNames::take() {
  worker_ = {};
  return {before_ ? before_->map() : Bytes{}, later_ ? later_->map() : Bytes{}};
}

}  // namespace clrscope::collect
