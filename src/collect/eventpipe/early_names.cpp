#include "collect/eventpipe/early_names.h"

#include <poll.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <condition_variable>
#include <mutex>
#include <vector>

#include "base/io.h"
#include "base/log.h"
#include "base/temp_file.h"
#include "model/provider_names.h"
#include "nettrace/reader.h"

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

  bool ended() const { return !session_.stream; }

  off_t size() const {
    struct stat status {};
    return ::fstat(file_.get(), &status) == 0 ? status.st_size : 0;
  }

  // What came so far, event by event.
  void replay(const nettrace::OnBatch& take) const {
    nettrace::Reader reader;
    std::vector<std::uint8_t> chunk(64 << 10);
    for (off_t at = 0;;) {
      const auto got = ::pread(file_.get(), chunk.data(), chunk.size(), at);
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0 || !reader.feed(Bytes{chunk}.first(static_cast<std::size_t>(got)), take)) break;
      at += got;
    }
    (void)reader.finish(take);
  }

  Bytes map() {
    if (mapped_ || size() == 0) return {};
    size_ = static_cast<std::size_t>(size());
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

using std::chrono::nanoseconds;

constexpr std::chrono::seconds kPatience{30};    // for the whole rundown of a large application
constexpr std::chrono::milliseconds kLook{100};  // how soon a stop is noticed

// How often names are looked for: at first, then after half of the time that has passed.
constexpr std::chrono::seconds kFirstMoments{10};
constexpr std::chrono::seconds kOften{1};
constexpr std::chrono::nanoseconds kLeast = std::chrono::seconds{5};
constexpr std::chrono::nanoseconds kSeldom = std::chrono::seconds{30};

// Loader, JIT and NGEN, verbose: that is where the names are.
ipc::SessionConfig loads_only(bool stacks) {
  return {.buffer_mb = 16,
          .rundown_keyword = 0,
          .stacks = stacks,
          .providers = {{.name = std::string{kRuntimeProvider},
                         .keywords = 0x38,
                         .level = ipc::Level::kVerbose}}};
}

void sleep_unless_stopped(std::stop_token stop, std::chrono::nanoseconds time) {
  std::mutex mutex;
  std::condition_variable_any never;
  std::unique_lock lock{mutex};
  never.wait_for(lock, stop, time, [] { return false; });
}

Result<std::unique_ptr<NamesFile>> names_file(Result<ipc::Session> session,
                                              const std::string& folder) {
  auto opened = TRY(std::move(session));
  return std::make_unique<NamesFile>(std::move(opened), TRY(open_temp_file(folder)));
}

constexpr std::uint64_t kLineKeyword = 0x20000;

// Any provider will do: it is asked for nothing.
ipc::SessionConfig rundown_only(std::uint64_t keyword) {
  return {.buffer_mb = 64,
          .rundown_keyword = keyword,
          .providers = {{.name = std::string{kEventPipeProvider},
                         .keywords = 0,
                         .level = ipc::Level::kCritical}}};
}

}  // namespace

Result<ipc::Session> start_rundown(ipc::Endpoint& runtime, Rundown what,
                                   std::chrono::nanoseconds patience) {
  if (what == Rundown::kNames) {
    auto names =
        ipc::start_tracing(runtime, rundown_only(ipc::kDefaultRundown & ~kLineKeyword), patience);
    if (names || names.error().code != Errc::kUnsupported) return names;
  }
  return ipc::start_tracing(runtime, rundown_only(ipc::kDefaultRundown), patience);
}

EarlyNames::EarlyNames(ipc::Endpoint& runtime, std::string folder, std::chrono::nanoseconds delay,
                       std::chrono::nanoseconds look_every)
    : runtime_(runtime),
      folder_(std::move(folder)),
      look_every_(look_every),
      worker_([this, delay](std::stop_token stop) { run(stop, delay); }) {}

EarlyNames::~EarlyNames() { worker_ = {}; }

void EarlyNames::run(std::stop_token stop, std::chrono::nanoseconds delay) {
  sleep_unless_stopped(stop, delay);
  if (stop.stop_requested()) return;
  // What is loaded between the two is in both.
  auto later = names_file(ipc::start_tracing(runtime_, loads_only(false)), folder_);
  if (!later && later.error().code == Errc::kUnsupported)
    later = names_file(ipc::start_tracing(runtime_, loads_only(true)), folder_);
  auto before =
      names_file(start_rundown(runtime_, Rundown::kLines, ipc::kDefaultPatience), folder_);
  if (!later || !before) {
    log(LogLevel::kDebug, "no early names: {}", (later ? before.error() : later.error()).what);
    return;
  }
  later_ = std::move(*later);
  before_ = std::move(*before);
  const std::jthread stopper{
      [this] { (void)ipc::stop_tracing(runtime_, before_->session_id(), kPatience); }};
  started_ = TraceClock::now();
  while (!stop.stop_requested()) {
    look_for_names(TraceClock::now());
    pollfd waiting[] = {{before_->stream(), POLLIN, 0}, {later_->stream(), POLLIN, 0}};
    if (::poll(waiting, 2, static_cast<int>(kLook.count())) <= 0) continue;
    if (waiting[0].revents != 0) before_->read_some();
    if (waiting[1].revents != 0) later_->read_some();
  }
  before_->close();
  later_->close();
}

void EarlyNames::want(std::span<const std::uint64_t> addresses) {
  wanted_.with(
      [&](auto& wanted) { wanted.insert(wanted.end(), addresses.begin(), addresses.end()); });
}

std::vector<NameEvent> EarlyNames::take_found() {
  return found_.with([](auto& found) { return std::exchange(found, {}); });
}

void EarlyNames::look_for_names(TraceTime now) {
  if (!before_->ended() || now < next_look_) return;
  const auto fresh = wanted_.with([](auto& wanted) { return std::exchange(wanted, {}); });
  methods_.want(fresh);
  const auto size = later_->size();
  if (!methods_.any() || (fresh.empty() && size == looked_at_)) return;
  std::vector<NameEvent> names;
  const auto look = [&](const nettrace::Batch& batch) {
    for (const auto& event : batch.events) methods_.look_at(event, names);
  };
  before_->replay(look);
  later_->replay(look);
  methods_.add_modules(names);
  looked_at_ = size;
  const auto passed = now - started_;
  const auto wait =
      passed < kFirstMoments ? nanoseconds{kOften} : std::clamp(passed / 2, kLeast, kSeldom);
  next_look_ = now + std::min(wait, look_every_);
  found_.with([&](auto& found) { std::ranges::move(names, std::back_inserter(found)); });
}

EarlyNames::Traces EarlyNames::take() {
  worker_ = {};
  return {before_ ? before_->map() : Bytes{}, later_ ? later_->map() : Bytes{}};
}

}  // namespace clrscope::collect
