#include "collect/machine/guardian.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <set>
#include <tuple>

#include "ipc/commands.h"

namespace clrscope::collect {
namespace {

constexpr std::chrono::seconds kPatience{2};

// What goes through the pipe: less than PIPE_BUF, so whole or not at all.
struct Word {
  enum class Kind : std::uint32_t { kWatch, kForget } kind;
  pid_t process;
  std::uint64_t session;
  char socket[sizeof(sockaddr_un::sun_path) + 64];  // paths below /proc/PID/root are longer
};

void leave_the_parents_world(int keep) {
  ::setsid();  // Ctrl+C is for the recorder
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE}) ::signal(number, SIG_IGN);
  const int null = ::open("/dev/null", O_RDWR);
  for (const int standard : {0, 1, 2}) ::dup2(null, standard);
  if (keep > 3) (void)::syscall(SYS_close_range, 3U, static_cast<unsigned>(keep) - 1, 0U);
  (void)::syscall(SYS_close_range, static_cast<unsigned>(keep) + 1, ~0U, 0U);
}

[[noreturn]] void guard(int from_parent) {
  leave_the_parents_world(from_parent);
  std::set<std::tuple<std::string, pid_t, std::uint64_t>> watched;
  Word word{};
  for (;;) {
    const auto got = ::read(from_parent, &word, sizeof word);
    if (got < 0 && errno == EINTR) continue;
    if (got != sizeof word) break;  // our parent has gone, or is done
    word.socket[sizeof word.socket - 1] = '\0';
    if (word.kind == Word::Kind::kWatch)
      watched.emplace(word.socket, word.process, word.session);
    else
      watched.erase({word.socket, word.process, word.session});
  }
  for (const auto& [socket, process, session] : watched)
    (void)ipc::stop_tracing(*ipc::connect_endpoint(socket, process), session, kPatience);
  ::_exit(0);
}

void tell(const UniqueFd& to, Word::Kind kind, const GuardedSession& what) {
  Word word{.kind = kind, .process = what.process, .session = what.session, .socket = {}};
  if (!to || what.socket.size() >= sizeof word.socket) return;
  std::memcpy(word.socket, what.socket.data(), what.socket.size());
  while (::write(to.get(), &word, sizeof word) < 0 && errno == EINTR) {
  }
}

}  // namespace

Guardian::Guardian() {
  int ends[2] = {-1, -1};
  if (::pipe2(ends, O_CLOEXEC) != 0) return;
  UniqueFd from_parent{ends[0]};
  to_child_.reset(ends[1]);
  child_ = ::fork();
  if (child_ == 0) {
    to_child_.reset();
    guard(from_parent.get());
  }
  if (child_ < 0) to_child_.reset();
}

Guardian::~Guardian() {
  if (child_ < 0) return;
  to_child_.reset();  // what was not forgotten is stopped
  while (::waitpid(child_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

void Guardian::watch(const GuardedSession& what) { tell(to_child_, Word::Kind::kWatch, what); }

void Guardian::forget(const GuardedSession& what) { tell(to_child_, Word::Kind::kForget, what); }

}  // namespace clrscope::collect
