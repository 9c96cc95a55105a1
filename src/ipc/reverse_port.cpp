// The listening side of reverse connections. One thread accepts, reads advertisements and watches
// idle connections; nobody who connects can make it wait.
#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "ipc/endpoint.h"
#include "ipc/frame.h"
#include "ipc/socket_address.h"

namespace clrscope::ipc {
namespace {

using Cookie = std::array<std::uint8_t, 16>;

constexpr std::size_t kMostNewcomers = 256;
constexpr std::chrono::seconds kTimeToAdvertise{10};

struct Newcomer {
  UniqueFd connection;
  std::array<std::uint8_t, kAdvertisementSize> bytes{};
  std::size_t filled = 0;
  Deadline until{kTimeToAdvertise};
};

enum class Progress { kMore, kDone, kBroken };

Progress read_more(Newcomer& newcomer) {
  const auto got = ::recv(newcomer.connection.get(), newcomer.bytes.data() + newcomer.filled,
                          newcomer.bytes.size() - newcomer.filled, MSG_DONTWAIT);
  if (got < 0) return errno == EAGAIN || errno == EINTR ? Progress::kMore : Progress::kBroken;
  if (got == 0) return Progress::kBroken;
  newcomer.filled += static_cast<std::size_t>(got);
  return newcomer.filled == newcomer.bytes.size() ? Progress::kDone : Progress::kMore;
}

bool is_quiet(int connection) {
  pollfd state{connection, POLLIN, 0};
  return ::poll(&state, 1, 0) == 0;
}

Result<UniqueFd> make_socket() {
  UniqueFd fd{::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)};
  if (!fd) return fail(Errc::kSystem, "cannot make a socket: {}", errno_text());
  return fd;
}

// Removes what a dead listener left at `path`; anything else there is an error.
Result<> clear_the_way(const std::string& path, const SocketAddress& address) {
  struct stat info {};
  if (::lstat(path.c_str(), &info) != 0) return {};
  if (!S_ISSOCK(info.st_mode))
    return fail(Errc::kUsage, "{} is there already and is not a socket", path)
        .hint("choose another path for the port");
  const auto probe = TRY(make_socket());
  if (::connect(probe.get(), address.get(), address.size()) == 0 || errno != ECONNREFUSED)
    return fail(Errc::kUsage, "somebody else listens on {}", path)
        .hint("choose another path for the port, or end the other listener");
  if (::unlink(path.c_str()) != 0 && errno != ENOENT)
    return fail(errc_of(errno), "cannot remove the old socket {}: {}", path, errno_text());
  return {};
}

class Port : public ReversePort {
 public:
  Port(std::string path, UniqueFd listener, UniqueFd wake, struct stat file)
      : path_(std::move(path)),
        listener_(std::move(listener)),
        wake_(std::move(wake)),
        device_(file.st_dev),
        inode_(file.st_ino),
        thread_([this](const std::stop_token& stop) { run(stop); }) {}

  ~Port() override {
    thread_.request_stop();
    nudge();
    thread_.join();
    struct stat file {};
    if (::lstat(path_.c_str(), &file) == 0 && file.st_dev == device_ && file.st_ino == inode_)
      ::unlink(path_.c_str());
  }

  Port(const Port&) = delete;
  Port& operator=(const Port&) = delete;

  Result<Advertisement> next_runtime(const Deadline& deadline) override {
    std::unique_lock lock{mutex_};
    if (!wait(lock, deadline, [&] { return !fresh_.empty(); }))
      return fail(Errc::kTimeout, "no runtime has connected to {} in time", path_)
          .hint("start it with DOTNET_DiagnosticPorts={}", path_);
    const auto runtime = fresh_.front();
    fresh_.pop_front();
    return runtime;
  }

  std::unique_ptr<Endpoint> endpoint(const Advertisement& runtime) override;
  const std::string& path() const override { return path_; }

  bool waits(const Advertisement& runtime) const override {
    const std::lock_guard lock{mutex_};
    const auto found = idle_.find(runtime.cookie);
    return found != idle_.end() && found->second && is_quiet(found->second.get());
  }

  void forget(const Advertisement& runtime) override {
    const std::lock_guard lock{mutex_};
    idle_.erase(runtime.cookie);
  }

  Result<UniqueFd> take(const Advertisement& runtime, const Deadline& deadline) {
    std::unique_lock lock{mutex_};
    for (;;) {
      if (!wait(lock, deadline, [&] {
            const auto found = idle_.find(runtime.cookie);
            return found != idle_.end() && found->second;
          }))
        return fail(Errc::kTimeout, "process {} has not connected to {} again in time", runtime.pid,
                    path_)
            .hint("it has ended, is stopped or is busy with a long command");
      auto connection = std::move(idle_[runtime.cookie]);
      if (!is_quiet(connection.get())) continue;  // it died just now
      lock.unlock();
      nudge();  // the thread need not watch it any more
      const int flags = ::fcntl(connection.get(), F_GETFL);
      ::fcntl(connection.get(), F_SETFL, flags & ~O_NONBLOCK);
      return connection;
    }
  }

 private:
  template <class Condition>
  bool wait(std::unique_lock<std::mutex>& lock, const Deadline& deadline, Condition condition) {
    const auto until = std::chrono::steady_clock::now() + deadline.left();
    return changed_.wait_until(lock, until, condition);
  }

  void nudge() { ::eventfd_write(wake_.get(), 1); }

  void run(const std::stop_token& stop) {
    std::vector<pollfd> watched;
    std::vector<Cookie> idle_watched;
    while (!stop.stop_requested()) {
      watch(watched, idle_watched);
      const int timeout = newcomers_.empty() ? -1 : newcomers_.front().until.poll_timeout();
      if (::poll(watched.data(), watched.size(), timeout) < 0) continue;
      eventfd_t ignored = 0;
      if (watched[0].revents != 0) ::eventfd_read(wake_.get(), &ignored);
      drop_dead_idle(watched, idle_watched);
      hear_newcomers(watched);
      if (watched[1].revents != 0) accept_all();
    }
  }

  // Fills the list for poll: wake, listener, newcomers in order, idle connections.
  void watch(std::vector<pollfd>& watched, std::vector<Cookie>& idle_watched) {
    watched.assign({{wake_.get(), POLLIN, 0}, {listener_.get(), POLLIN, 0}});
    idle_watched.clear();
    for (const auto& newcomer : newcomers_)
      watched.push_back({newcomer.connection.get(), POLLIN, 0});
    const std::lock_guard lock{mutex_};
    for (const auto& [cookie, connection] : idle_) {
      if (!connection) continue;
      watched.push_back({connection.get(), POLLIN, 0});
      idle_watched.push_back(cookie);
    }
  }

  // A runtime says nothing on an idle connection: whatever can be read means that it is over.
  void drop_dead_idle(const std::vector<pollfd>& watched, const std::vector<Cookie>& cookies) {
    const auto first = watched.size() - cookies.size();
    const std::lock_guard lock{mutex_};
    for (std::size_t i = 0; i < cookies.size(); ++i) {
      const auto found = idle_.find(cookies[i]);
      if (found == idle_.end()) continue;  // forgotten meanwhile: it must stay unknown
      auto& connection = found->second;
      if (watched[first + i].revents == 0 || connection.get() != watched[first + i].fd) continue;
      if (is_quiet(connection.get())) continue;
      connection.reset();
      // Nobody knows of it yet: it is as if it had never been here.
      const auto unseen = std::ranges::find(fresh_, cookies[i], &Advertisement::cookie);
      if (unseen == fresh_.end()) continue;
      fresh_.erase(unseen);
      idle_.erase(found);
    }
  }

  void hear_newcomers(const std::vector<pollfd>& watched) {
    std::vector<Newcomer> staying;
    for (std::size_t i = 0; i < newcomers_.size(); ++i) {
      auto& newcomer = newcomers_[i];
      const auto progress = watched[2 + i].revents == 0 ? Progress::kMore : read_more(newcomer);
      if (progress == Progress::kDone) welcome(newcomer);
      if (progress == Progress::kMore && !newcomer.until.passed())
        staying.push_back(std::move(newcomer));
    }
    newcomers_ = std::move(staying);
  }

  void welcome(Newcomer& newcomer) {
    auto runtime = decode_advertisement(newcomer.bytes);
    if (!runtime) return;  // garbage: it is closed with its newcomer
    ucred other{};
    socklen_t size = sizeof other;
    if (::getsockopt(newcomer.connection.get(), SOL_SOCKET, SO_PEERCRED, &other, &size) == 0)
      runtime->peer = other.pid;
    {
      const std::lock_guard lock{mutex_};
      if (!idle_.contains(runtime->cookie)) fresh_.push_back(*runtime);
      idle_[runtime->cookie] = std::move(newcomer.connection);
    }
    changed_.notify_all();
  }

  void accept_all() {
    for (;;) {
      UniqueFd connection{
          ::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK)};
      if (!connection) {
        if (errno == EMFILE || errno == ENFILE) ::poll(nullptr, 0, 10);  // else we would spin
        return;
      }
      if (newcomers_.size() >= kMostNewcomers) newcomers_.erase(newcomers_.begin());
      newcomers_.push_back({.connection = std::move(connection)});
    }
  }

  const std::string path_;
  const UniqueFd listener_;
  const UniqueFd wake_;
  const dev_t device_;
  const ino_t inode_;
  std::vector<Newcomer> newcomers_;  // the thread's own; oldest first

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::map<Cookie, UniqueFd>
      idle_;  // every runtime ever seen; without a connection while it is busy
  std::deque<Advertisement> fresh_;  // seen, not yet returned by next_runtime()

  std::jthread thread_;  // last: the first to stop
};

class ReverseEndpoint : public Endpoint {
 public:
  ReverseEndpoint(Port& port, const Advertisement& runtime) : port_(port), runtime_(runtime) {}

  Result<UniqueFd> connect(const Deadline& deadline) override {
    return port_.take(runtime_, deadline);
  }
  std::string name() const override { return port_.path(); }
  pid_t peer() const override { return runtime_.peer; }

 private:
  Port& port_;
  Advertisement runtime_;
};

std::unique_ptr<Endpoint> Port::endpoint(const Advertisement& runtime) {
  return std::make_unique<ReverseEndpoint>(*this, runtime);
}

}  // namespace

Result<std::unique_ptr<ReversePort>> ReversePort::listen(std::string path, mode_t mode) {
  const auto address = TRY(SocketAddress::of(path));
  TRY(clear_the_way(path, address));
  auto listener = TRY(make_socket());
  // Linux gives the socket file the mode of the socket itself, less the umask: nobody else may ever
  // connect.
  ::fchmod(listener.get(), S_IRUSR | S_IWUSR);
  if (::bind(listener.get(), address.get(), address.size()) != 0)
    return fail(errc_of(errno), "cannot listen on {}: {}", path, errno_text())
        .hint("the folder must exist and be writable");
  if (mode != 0600 && ::chmod(path.c_str(), mode) != 0)
    return fail(errc_of(errno), "cannot set the mode of {}: {}", path, errno_text());
  struct stat file {};
  if (::lstat(path.c_str(), &file) != 0 || ::listen(listener.get(), SOMAXCONN) != 0)
    return fail(Errc::kSystem, "cannot listen on {}: {}", path, errno_text());
  UniqueFd wake{::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
  if (!wake) return fail(Errc::kSystem, "cannot make an eventfd: {}", errno_text());
  return std::unique_ptr<ReversePort>{
      std::make_unique<Port>(std::move(path), std::move(listener), std::move(wake), file)};
}

}  // namespace clrscope::ipc
