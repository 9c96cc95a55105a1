#include "ops/forward_status_socket.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <optional>

#include "net/socket.h"
#include "ops/forward.h"

namespace clrscope::ops {
namespace {

constexpr std::string_view kPrefix = "clrscope-forward-", kSuffix = ".sock";
constexpr std::size_t kLargestState = 16 << 20;

std::string folder() {
  const char* named = std::getenv("TMPDIR");
  return named && *named ? named : "/tmp";
}

std::string path_of(pid_t pid) { return fmt::format("{}/{}{}{}", folder(), kPrefix, pid, kSuffix); }

Result<std::string> ask(const std::string& path) {
  const Deadline deadline{std::chrono::seconds{5}};
  const auto fd = TRY(net::connect({.path = path}, net::Transport::kStream, deadline));
  std::string text;
  std::uint8_t piece[16384];
  for (;;) {
    const auto got = TRY(net::receive_some(fd.get(), piece, deadline));
    if (got == 0) return text;
    text.append(reinterpret_cast<const char*>(piece), got);
    if (text.size() > kLargestState)
      return fail(Errc::kCorrupt, "{} sent an incomplete status", path);
  }
}

std::optional<sockaddr_un> unix_address(const std::string& path) {
  sockaddr_un at{};
  if (path.size() >= sizeof at.sun_path) return std::nullopt;
  at.sun_family = AF_UNIX;
  std::memcpy(at.sun_path, path.data(), path.size());
  return at;
}

bool is_status_socket(const std::string& name) {
  return name.starts_with(kPrefix) && name.ends_with(kSuffix);
}

// Removes sockets that no process listens on any more: of forwards that were killed.
void remove_stale_sockets() {
  std::error_code error;
  for (std::filesystem::directory_iterator at{folder(), error}, end; !error && at != end;
       at.increment(error)) {
    struct stat status {};
    const auto path = at->path().string();
    if (!is_status_socket(at->path().filename().string()) || ::lstat(path.c_str(), &status) != 0 ||
        !S_ISSOCK(status.st_mode) || status.st_uid != ::geteuid())
      continue;
    const auto address = unix_address(path);
    const UniqueFd fd{::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)};
    if (fd && address &&
        ::connect(fd.get(), reinterpret_cast<const sockaddr*>(&*address), sizeof *address) != 0 &&
        errno == ECONNREFUSED)
      ::unlink(path.c_str());
  }
}

}  // namespace

ForwardStatusSocket::ForwardStatusSocket(UniqueFd listening, std::string path)
    : listening_(std::move(listening)),
      path_(std::move(path)),
      wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      worker_([this](const std::stop_token& stop) { run(stop); }) {}

ForwardStatusSocket::~ForwardStatusSocket() {
  ::unlink(path_.c_str());
  worker_.request_stop();
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto written = ::write(wake_.get(), &one, sizeof one);
}

void ForwardStatusSocket::run(const std::stop_token& stop) {
  pollfd fds[] = {{.fd = listening_.get(), .events = POLLIN, .revents = 0},
                  {.fd = wake_.get(), .events = POLLIN, .revents = 0}};
  while (!stop.stop_requested()) {
    ::poll(fds, std::size(fds), -1);
    const UniqueFd guest{
        ::accept4(listening_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK)};
    if (!guest) continue;
    const auto text = state_.with([](const auto& state) { return state; });
    // A client that does not read is not waited for long.
    (void)net::send_all(guest.get(), as_bytes(text), Deadline{std::chrono::milliseconds{200}});
  }
}

Result<std::unique_ptr<ForwardStatusSocket>> ForwardStatusSocket::open() {
  auto path = path_of(::getpid());
  const auto at = unix_address(path);
  if (!at)
    return fail(Errc::kUnsupported,
                "{} is too long for a socket: --status cannot show this forward", path);
  UniqueFd fd{::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)};
  remove_stale_sockets();
  const auto mask = ::umask(0177);
  const bool bound = fd &&
                     ::bind(fd.get(), reinterpret_cast<const sockaddr*>(&*at), sizeof *at) == 0 &&
                     ::listen(fd.get(), 16) == 0;
  ::umask(mask);
  if (!bound)
    return fail(Errc::kSystem, "cannot listen at {}: {}: --status cannot show this forward", path,
                errno_text());
  return std::unique_ptr<ForwardStatusSocket>{
      new ForwardStatusSocket{std::move(fd), std::move(path)}};  // its constructor is private
}

Result<std::vector<std::string>> forward_states(std::optional<pid_t> pid) {
  if (pid) {
    auto state = ask(path_of(*pid));
    if (!state)
      return fail(Errc::kNotFound, "process {} is not a forward that you started", *pid)
          .hint("run clrscope forward --status to list yours");
    return std::vector{std::move(*state)};
  }
  std::vector<std::string> states;
  std::error_code error;
  for (std::filesystem::directory_iterator at{folder(), error}, end; !error && at != end;
       at.increment(error)) {
    const auto name = at->path().filename().string();
    if (!is_status_socket(name)) continue;
    // One that was killed left its door behind: nobody answers.
    if (auto state = ask(at->path().string())) states.push_back(std::move(*state));
  }
  if (error) return fail(Errc::kSystem, "cannot list {}: {}", folder(), error.message());
  return states;
}

}  // namespace clrscope::ops
