#include "net/http_server.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <condition_variable>
#include <ctime>
#include <mutex>
#include <thread>
#include <unordered_set>

#include "base/log.h"
#include "base/text.h"
#include "net/http_connection.h"
#include "net/listen.h"

namespace clrscope::net {
namespace {

using Socket = asio::generic::stream_protocol::socket;

constexpr auto kToken = asio::as_tuple(asio::use_awaitable);
constexpr std::chrono::nanoseconds kLeastSweep = std::chrono::milliseconds{50};
constexpr std::chrono::nanoseconds kMostSweep = std::chrono::seconds{1};  // the Date lags as much
constexpr auto kBreath = std::chrono::milliseconds{100};  // after an accept that failed
constexpr int kAtATime = 64;  // accepted; then the loop serves those it has

HttpPeer peer_of(int fd, const sockaddr_storage& from, socklen_t size, bool tls) {
  HttpPeer peer{.address = "unix", .tls = tls};
  if (from.ss_family == AF_UNIX || size == 0) {
    ucred credentials{};
    socklen_t length = sizeof credentials;
    if (::getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &credentials, &length) == 0)
      peer.uid = credentials.uid;
    return peer;
  }
  char host[NI_MAXHOST], port[NI_MAXSERV];
  if (::getnameinfo(reinterpret_cast<const sockaddr*>(&from), size, host, sizeof host, port,
                    sizeof port, NI_NUMERICHOST | NI_NUMERICSERV) == 0)
    peer.address = Address{.host = host, .port = port}.text();
  return peer;
}

// Whom a connection counts for: a client of IPv6 has a whole network of addresses.
std::string address_of(const sockaddr_storage& from) {
  if (from.ss_family == AF_INET) {
    const auto& four = reinterpret_cast<const sockaddr_in&>(from).sin_addr;
    return {reinterpret_cast<const char*>(&four), sizeof four};
  }
  if (from.ss_family != AF_INET6) return "unix";
  const auto& six = reinterpret_cast<const sockaddr_in6&>(from).sin6_addr;
  const auto* bytes = reinterpret_cast<const char*>(&six);
  return IN6_IS_ADDR_V4MAPPED(&six) ? std::string{bytes + 12, 4} : std::string{bytes, 8};
}

// A thread and the connections that it serves; nobody else touches them.
class Loop {
 public:
  Loop(const HttpServerSetting& setting, const HttpHandler& handler, HttpCounts& counts,
       std::function<void()> on_closed)
      : service_{.setting = setting, .handler = handler, .counts = counts, .context = context_},
        on_closed_(std::move(on_closed)) {
    asio::co_spawn(context_, sweep(), asio::detached);
    thread_ = std::thread{[this] { context_.run(); }};
  }
  ~Loop() { join(); }
  void join() {
    if (thread_.joinable()) thread_.join();
  }

  asio::io_context& context() { return context_; }
  HttpService& service() { return service_; }

  // What is known of a connection before it is made; touched on this thread only.
  struct Slot {
    std::weak_ptr<HttpConnection> connection{};
    bool ended = false;
  };
  // Any thread.
  void add(UniqueFd fd, int family, HttpPeer peer, std::shared_ptr<TlsContext> tls,
           std::shared_ptr<Slot> slot, std::shared_ptr<ConnectionTable::Place> place) {
    asio::post(
        context_, [this, fd = std::move(fd), family, peer = std::move(peer), tls = std::move(tls),
                   slot = std::move(slot), place = std::move(place)]() mutable {
          if (service_.stopping || slot->ended) return closed();
          auto conn = make_conn(context_, std::move(fd), family, tls, service_.setting.write_time);
          if (!conn) return closed();
          auto connection = std::make_shared<HttpConnection>(service_, std::move(conn),
                                                             std::move(peer), std::move(place));
          slot->connection = connection;
          if (connections_.empty()) begin_sweeping();
          connections_.insert(connection.get());
          asio::co_spawn(context_, run(std::move(connection)), asio::detached);
        });
  }
  void end(const std::shared_ptr<Slot>& slot) {
    asio::post(context_, [slot] {
      slot->ended = true;
      if (const auto connection = slot->connection.lock()) connection->abort();
    });
  }

  void begin_stop() {
    asio::post(context_, [this] {
      service_.stopping = true;
      // Each takes itself off the list when it ends, which is later.
      for (auto* connection : connections_) connection->stop_if_idle();
    });
  }

  void abort() {
    asio::post(context_, [this] {
      service_.stopping = true;
      for (auto* connection : connections_) connection->abort();
      ended_ = true;
      sweep_.cancel();
      guard_.reset();
    });
  }

 private:
  asio::awaitable<void> run(std::shared_ptr<HttpConnection> connection) {
    co_await connection->serve();
    connections_.erase(connection.get());
    closed();
  }

  void closed() {
    --service_.counts.open;
    on_closed_();
  }

  // Often enough for the shortest time that a client is given.
  static std::chrono::nanoseconds sweep_interval(const HttpServerSetting& setting) {
    const auto shortest = std::min(
        {setting.request_time, setting.first_byte_time, setting.idle_time, setting.write_time});
    return std::clamp(shortest / 5, kLeastSweep, kMostSweep);
  }

  // Without connections the loop sleeps.
  void begin_sweeping() {
    service_.date = http_date(::time(nullptr));
    sweep_.cancel();
  }

  asio::awaitable<void> sweep() {
    const auto every = sweep_interval(service_.setting);
    while (!ended_) {
      if (connections_.empty()) {
        sweep_.expires_after(std::chrono::hours{24});
      } else {
        service_.date = http_date(::time(nullptr));
        const auto now = TraceClock::now();
        for (auto* connection : connections_) connection->sweep(now);
        sweep_.expires_after(every);
      }
      (void)co_await sweep_.async_wait(kToken);
    }
  }

  asio::io_context context_{1};
  asio::executor_work_guard<asio::io_context::executor_type> guard_ =
      asio::make_work_guard(context_);
  HttpService service_;
  std::function<void()> on_closed_;
  std::unordered_set<HttpConnection*> connections_;
  asio::steady_timer sweep_{context_};
  bool ended_ = false;
  std::thread thread_;
};

}  // namespace

struct HttpServer::Impl {
  Impl(HttpServerSetting with, HttpHandler to) : setting(std::move(with)), handler(std::move(to)) {}

  // Accepts for all loops; runs on the first one's thread.
  asio::awaitable<void> accept(std::size_t which) {
    auto& listener = *listeners[which];
    asio::steady_timer pause{loops[0]->context()};
    auto refreshed = TraceClock::now();
    while (!stopping) {
      const auto [error] = co_await listener.async_wait(Socket::wait_read, kToken);
      if (error || stopping) co_return;
      const auto& tls = setting.endpoints[which].tls;
      if (tls && TraceClock::now() - refreshed > std::chrono::seconds{1}) {
        refreshed = TraceClock::now();
        if (const auto done = tls->refresh(); !done) log_error(done.error());
      }
      if (accept_waiting(listener.native_handle(), tls)) continue;
      pause.expires_after(kBreath);
      (void)co_await pause.async_wait(kToken);
    }
  }

  // False when none can be had now: out of descriptors, as a rule.
  bool accept_waiting(int listener, const std::shared_ptr<TlsContext>& tls) {
    for (int i = 0; i < kAtATime; ++i) {
      sockaddr_storage from{};
      socklen_t size = sizeof from;
      UniqueFd fd{::accept4(listener, reinterpret_cast<sockaddr*>(&from), &size,
                            SOCK_CLOEXEC | SOCK_NONBLOCK)};
      if (!fd) {
        if (errno == EINTR || errno == ECONNABORTED) continue;
        return errno == EAGAIN || errno == EWOULDBLOCK;
      }
      ++counts.accepted;
      auto& loop = *loops[next++ % loops.size()];
      const auto slot = std::make_shared<Loop::Slot>();
      auto place = table.enter(address_of(from), [&loop, slot] { loop.end(slot); });
      if (!place) {
        ++counts.overflowed;
        continue;
      }
      ++counts.open;
      const int family = from.ss_family == AF_UNSPEC ? AF_UNIX : from.ss_family;
      if (family != AF_UNIX) {
        const int yes = 1;
        ::setsockopt(fd.get(), IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
      }
      auto peer = peer_of(fd.get(), from, size, tls != nullptr);
      loop.add(std::move(fd), family, std::move(peer), tls, slot, std::move(place));
    }
    return true;
  }

  void stop(std::chrono::nanoseconds patience) {
    if (loops.empty()) return;
    stopping = true;
    asio::post(loops[0]->context(), [this] {
      boost::system::error_code ignored;
      for (auto& listener : listeners) listener->close(ignored);
    });
    for (auto& loop : loops) loop->begin_stop();
    {
      std::unique_lock lock{closed_mutex};
      closed.wait_for(lock, patience, [&] { return counts.open == 0; });
    }
    for (auto& loop : loops) loop->abort();
    for (const auto& address : addresses)
      if (!address.path.empty()) ::unlink(address.path.c_str());
    loops[0]->join();  // it hands connections to the others
    listeners.clear();
    loops.clear();
  }

  const HttpServerSetting setting;
  const HttpHandler handler;
  HttpCounts counts;
  ConnectionTable table{setting.connections};
  std::vector<Address> addresses;
  std::mutex closed_mutex;
  std::condition_variable closed;
  std::atomic<bool> stopping{false};
  std::size_t next = 0;
  std::vector<std::unique_ptr<Loop>> loops;
  std::vector<std::unique_ptr<Socket>> listeners;
};

HttpServer::HttpServer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
HttpServer::~HttpServer() { stop({}); }

Result<std::unique_ptr<HttpServer>> HttpServer::start(HttpServerSetting setting,
                                                      HttpHandler handler) {
  CHECK(!setting.endpoints.empty() && setting.threads > 0);
  auto impl = std::make_unique<Impl>(std::move(setting), std::move(handler));
  std::vector<Listening> sockets;
  for (const auto& endpoint : impl->setting.endpoints) {
    sockets.push_back(TRY(listen_at(endpoint.address)));
    impl->addresses.push_back(sockets.back().address);
  }
  auto* self = impl.get();
  const auto on_closed = [self] {
    const std::lock_guard lock{self->closed_mutex};
    if (self->counts.open == 0) self->closed.notify_all();
  };
  for (std::size_t i = 0; i < impl->setting.threads; ++i)
    impl->loops.push_back(
        std::make_unique<Loop>(impl->setting, impl->handler, impl->counts, on_closed));
  auto& context = impl->loops[0]->context();
  for (auto& socket : sockets) {
    const int family = socket.address.path.empty() ? AF_INET : AF_UNIX;
    auto listener = std::make_unique<Socket>(context);
    listener->assign(asio::generic::stream_protocol{family, 0}, socket.fd.release());
    impl->listeners.push_back(std::move(listener));
  }
  for (std::size_t i = 0; i < impl->listeners.size(); ++i)
    asio::co_spawn(context, impl->accept(i), asio::detached);
  return std::unique_ptr<HttpServer>{new HttpServer{std::move(impl)}};  // NOLINT: private
}

const std::vector<Address>& HttpServer::addresses() const { return impl_->addresses; }

HttpServerState HttpServer::state() const {
  const auto& counts = impl_->counts;
  return {.open = counts.open,
          .accepted = counts.accepted,
          .requests = counts.requests,
          .bad = counts.bad,
          .timed_out = counts.timed_out,
          .overflowed = counts.overflowed,
          .displaced = impl_->table.ended()};
}

void HttpServer::stop(std::chrono::nanoseconds patience) { impl_->stop(patience); }

bool local_host_field(std::optional<std::string_view> host, const std::vector<std::string>& names) {
  if (!host) return true;  // HTTP/1.0: no browser
  auto name = trim(*host);
  if (name.starts_with('['))
    name = name.substr(1, name.find(']') == std::string_view::npos ? 0 : name.find(']') - 1);
  else
    name = name.substr(0, name.rfind(':'));
  for (const auto& known : names)
    if (equal_ignoring_case(name, known)) return true;
  const std::string text{name};
  in_addr four{};
  if (::inet_pton(AF_INET, text.c_str(), &four) == 1) return (ntohl(four.s_addr) >> 24) == 127;
  // No name below localhost leads elsewhere (RFC 6761).
  constexpr std::string_view kBelow = ".localhost";
  return equal_ignoring_case(name, "localhost") || name == "::1" ||
         (name.size() > kBelow.size() &&
          equal_ignoring_case(name.substr(name.size() - kBelow.size()), kBelow));
}

}  // namespace clrscope::net
