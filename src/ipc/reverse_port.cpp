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
#include <thread>
#include <utility>
#include <vector>

#include "base/log.h"
#include "base/proc.h"
#include "ipc/endpoint.h"
#include "ipc/frame.h"
#include "ipc/newcomers.h"
#include "ipc/peer.h"
#include "ipc/socket_address.h"

namespace clrscope::ipc {
namespace {

using Cookie = std::array<std::uint8_t, 16>;

constexpr std::chrono::seconds kGone{60};  // a peer whose pid is unknown, without a connection
constexpr std::chrono::seconds kTellAgain{10};

// Who said a cookie first.
struct Owner {
  Peer peer{};
  std::uint64_t start = 0;  // of the process, in clock ticks since boot; 0: unknown
};

Owner owner_of(const Peer& peer) {
  Owner owner{.peer = peer};
  if (peer.pid != 0)
    if (const auto status = proc_status(peer.pid)) owner.start = status->start_ticks;
  return owner;
}

// Whether both may be the same process: what is unknown is not compared. A process may change its
// user, it keeps its pid and start.
bool may_be_same(const Owner& known, const Owner& now) {
  if (known.peer.pid != 0 && now.peer.pid != 0 && known.peer.pid != now.peer.pid) return false;
  if (known.peer.uid == now.peer.uid) return true;
  return known.peer.pid != 0 && known.peer.pid == now.peer.pid && known.start != 0 &&
         known.start == now.start;
}

bool is_proven(const Owner& known, const Owner& now) {
  return known.peer.pid != 0 && known.peer.pid == now.peer.pid;
}

struct KnownRuntime {
  UniqueFd connection{};  // none while it is busy
  Owner owner{};
  TraceTime heard{};  // when it last connected
};

bool is_quiet(int connection) {
  pollfd state{connection, POLLIN, 0};
  return ::poll(&state, 1, 0) == 0;
}

Result<UniqueFd> make_socket() {
  UniqueFd fd{::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)};
  if (!fd) return fail(Errc::kSystem, "cannot create a socket: {}", errno_text());
  return fd;
}

// Removes what a dead listener left at `path`; anything else there is an error.
Result<> clear_the_way(const std::string& path, const SocketAddress& address) {
  struct stat info {};
  if (::lstat(path.c_str(), &info) != 0) return {};
  if (!S_ISSOCK(info.st_mode))
    return fail(Errc::kUsage, "{} already exists and is not a socket", path)
        .hint("choose another path for the port");
  const auto probe = TRY(make_socket());
  if (::connect(probe.get(), address.get(), address.size()) == 0 || errno != ECONNREFUSED)
    return fail(Errc::kUsage, "another process listens on {}", path)
        .hint("choose another path for the port, or end the other listener");
  if (::unlink(path.c_str()) != 0 && errno != ENOENT)
    return fail(errc_of(errno), "cannot remove the old socket {}: {}", path, errno_text());
  return {};
}

class Port : public ReversePort {
 public:
  Port(std::string path, UniqueFd listener, UniqueFd wake, UniqueFd news, struct stat file,
       const PortLimits& limits)
      : path_(std::move(path)),
        listener_(std::move(listener)),
        wake_(std::move(wake)),
        news_(std::move(news)),
        limits_(limits),
        newcomers_(limits),
        device_(file.st_dev),
        inode_(file.st_ino),
        thread_([this](const std::stop_token& stop) { run(stop); }) {}

  ~Port() override {
    thread_.request_stop();
    nudge();
    thread_.join();
    tell_refused(TraceTime::max());
    struct stat file {};
    if (::lstat(path_.c_str(), &file) == 0 && file.st_dev == device_ && file.st_ino == inode_)
      ::unlink(path_.c_str());
  }

  Port(const Port&) = delete;
  Port& operator=(const Port&) = delete;

  Result<Advertisement> next_runtime(const Deadline& deadline) override {
    std::unique_lock lock{mutex_};
    if (!wait(lock, deadline, [&] { return !fresh_.empty(); }))
      return fail(Errc::kTimeout, "no runtime connected to {} in time", path_)
          .hint("start it with DOTNET_DiagnosticPorts={}", path_);
    const auto runtime = fresh_.front();
    fresh_.pop_front();
    return runtime;
  }

  std::unique_ptr<Endpoint> endpoint(const Advertisement& runtime) override;
  const std::string& path() const override { return path_; }
  int news() const override { return news_.get(); }

  void clear_news() override {
    eventfd_t ignored = 0;
    ::eventfd_read(news_.get(), &ignored);
  }

  PortRefusals refused() const override {
    const std::lock_guard lock{mutex_};
    return refused_;
  }

  bool waits(const Advertisement& runtime) const override {
    const std::lock_guard lock{mutex_};
    const auto found = known_.find(runtime.cookie);
    return found != known_.end() && is_alive(found->second);
  }

  void forget(const Advertisement& runtime) override {
    const std::lock_guard lock{mutex_};
    known_.erase(runtime.cookie);
  }

  Result<UniqueFd> take(const Advertisement& runtime, const Deadline& deadline) {
    std::unique_lock lock{mutex_};
    for (;;) {
      if (!wait(lock, deadline, [&] {
            const auto found = known_.find(runtime.cookie);
            return found != known_.end() && found->second.connection;
          }))
        return fail(Errc::kTimeout, "process {} did not reconnect to {} in time", runtime.pid,
                    path_)
            .hint("it has ended, is stopped or is busy with a long command");
      auto connection = std::move(known_[runtime.cookie].connection);
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

  static bool is_alive(const KnownRuntime& runtime) {
    return runtime.connection && is_quiet(runtime.connection.get());
  }

  void run(const std::stop_token& stop) {
    std::vector<pollfd> watched;
    std::vector<Cookie> idle_watched;
    while (!stop.stop_requested()) {
      watch(watched, idle_watched);
      if (::poll(watched.data(), watched.size(), poll_timeout()) < 0) continue;
      eventfd_t ignored = 0;
      if (watched[0].revents != 0) ::eventfd_read(wake_.get(), &ignored);
      drop_dead_idle(watched, idle_watched);
      const auto now = TraceClock::now();
      for (auto& one : newcomers_.hear(watched.data() + kFirstNewcomer, now)) welcome(one, now);
      if (watched[1].revents != 0)
        for (auto& one : newcomers_.accept(listener_.get(), now)) welcome(one, now);
      count_refused();
      tell_refused(now);
    }
  }

  int poll_timeout() const {
    auto next = newcomers_.next_time(TraceClock::now());
    if (told_ != refused()) next = std::min(next, told_at_ + kTellAgain);
    return next == TraceTime::max() ? -1 : Deadline{next}.poll_timeout();
  }

  // Fills the list for poll: wake, listener, newcomers in order, idle connections.
  void watch(std::vector<pollfd>& watched, std::vector<Cookie>& idle_watched) {
    const int listener = newcomers_.accepts(TraceClock::now()) ? listener_.get() : -1;
    watched.assign({{wake_.get(), POLLIN, 0}, {listener, POLLIN, 0}});
    idle_watched.clear();
    newcomers_.watch(watched);
    const std::lock_guard lock{mutex_};
    for (const auto& [cookie, runtime] : known_) {
      if (!runtime.connection) continue;
      watched.push_back({runtime.connection.get(), POLLIN, 0});
      idle_watched.push_back(cookie);
    }
  }

  // A runtime says nothing on an idle connection: whatever can be read means that it is over.
  void drop_dead_idle(const std::vector<pollfd>& watched, const std::vector<Cookie>& cookies) {
    const auto first = watched.size() - cookies.size();
    const std::lock_guard lock{mutex_};
    for (std::size_t i = 0; i < cookies.size(); ++i) {
      const auto found = known_.find(cookies[i]);
      if (found == known_.end()) continue;  // forgotten meanwhile: it must stay unknown
      auto& connection = found->second.connection;
      if (watched[first + i].revents == 0 || connection.get() != watched[first + i].fd) continue;
      if (is_quiet(connection.get())) continue;
      connection.reset();
      // Nobody knows of it yet: it is as if it had never been here.
      const auto unseen = std::ranges::find(fresh_, cookies[i], &Advertisement::cookie);
      if (unseen == fresh_.end()) continue;
      fresh_.erase(unseen);
      known_.erase(found);
    }
  }

  void welcome(Newcomer& newcomer, TraceTime now) {
    auto runtime = decode_advertisement(newcomer.bytes);
    if (!runtime) return;  // garbage: it is closed with its newcomer
    runtime->peer = newcomer.peer.pid;
    const auto owner = owner_of(newcomer.peer);
    {
      const std::lock_guard lock{mutex_};
      const auto found = known_.find(runtime->cookie);
      if (found == known_.end()) {
        if (!has_room(owner.peer, now)) {
          ++refused_.excess;
          return;
        }
        fresh_.push_back(*runtime);
        known_.emplace(runtime->cookie, KnownRuntime{std::move(newcomer.connection), owner, now});
      } else {
        auto& known = found->second;
        // A runtime has one connection here. Where the kernel does not say that both are of one
        // process, the first one stays.
        if (!may_be_same(known.owner, owner) ||
            (!is_proven(known.owner, owner) && is_alive(known))) {
          ++refused_.impostors;
          return;
        }
        known.connection = std::move(newcomer.connection);
        known.heard = now;
      }
    }
    changed_.notify_all();
    ::eventfd_write(news_.get(), 1);
  }

  // With the lock.
  bool has_room(const Peer& peer, TraceTime now) {
    const auto fits = [&] {
      std::size_t of_user = 0, of_process = 0;
      for (const auto& [cookie, runtime] : known_) {
        const auto& other = runtime.owner.peer;
        of_user += other.uid == peer.uid ? 1 : 0;
        of_process += other.uid == peer.uid && peer.pid != 0 && other.pid == peer.pid ? 1 : 0;
      }
      return known_.size() < limits_.runtimes && of_user < limits_.runtimes_per_user &&
             of_process < limits_.runtimes_per_process;
    };
    if (fits()) return true;
    std::erase_if(known_, [&](const auto& entry) {
      const auto& runtime = entry.second;
      if (runtime.connection) return false;
      const auto pid = runtime.owner.peer.pid;
      return pid != 0 ? !process_exists(pid) : now - runtime.heard > kGone;
    });
    return fits();
  }

  void count_refused() {
    const std::lock_guard lock{mutex_};
    refused_.silent = newcomers_.dropped();
    refused_.failed = newcomers_.failures();
  }

  // At once, and then at most every ten seconds.
  void tell_refused(TraceTime now) {
    const auto total = refused();
    if (total == told_ || now < told_at_ + kTellAgain) return;
    log(LogLevel::kWarning, "diagnostic port {}: connections refused so far: {}", path_,
        words_for(total));
    told_ = total;
    told_at_ = now;
  }

  static constexpr std::size_t kFirstNewcomer = 2;  // in the list for poll
  const std::string path_;
  const UniqueFd listener_;
  const UniqueFd wake_;
  const UniqueFd news_;
  const PortLimits limits_;
  Newcomers newcomers_;  // the thread's own, as the next two
  PortRefusals told_{};  // what the log says
  TraceTime told_at_{};
  const dev_t device_;
  const ino_t inode_;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::map<Cookie, KnownRuntime> known_;
  std::deque<Advertisement> fresh_;  // seen, not yet returned by next_runtime()
  PortRefusals refused_{};

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

std::string words_for(const PortRefusals& refused) {
  std::string words;
  const auto add = [&](std::uint64_t count, std::string_view what) {
    if (count > 0) words += fmt::format("{}{} {}", words.empty() ? "" : ", ", count, what);
  };
  add(refused.silent, "silent");
  add(refused.impostors, "with the cookie of another process");
  add(refused.excess, "runtimes beyond the limit");
  add(refused.failed, "failed accepts");
  return words;
}

Result<std::unique_ptr<ReversePort>> ReversePort::listen(std::string path, mode_t mode,
                                                         const PortLimits& limits) {
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
  UniqueFd news{::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
  if (!wake || !news) return fail(Errc::kSystem, "cannot create an eventfd: {}", errno_text());
  return std::unique_ptr<ReversePort>{std::make_unique<Port>(
      std::move(path), std::move(listener), std::move(wake), std::move(news), file, limits)};
}

}  // namespace clrscope::ipc
