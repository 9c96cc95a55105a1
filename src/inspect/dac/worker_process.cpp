#include "inspect/dac/worker_process.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstring>

#include "base/text.h"
#include "inspect/dac/worker.h"

namespace clrscope::inspect::dac {
namespace {

// What posix_spawn wants, freed with the object.
struct SpawnPlan {
  posix_spawn_file_actions_t files{};
  posix_spawnattr_t attributes{};

  SpawnPlan() {
    ::posix_spawn_file_actions_init(&files);
    ::posix_spawnattr_init(&attributes);
  }
  ~SpawnPlan() {
    ::posix_spawn_file_actions_destroy(&files);
    ::posix_spawnattr_destroy(&attributes);
  }
  SpawnPlan(const SpawnPlan&) = delete;
  SpawnPlan& operator=(const SpawnPlan&) = delete;
};

// Above the numbers that the worker gets, so that giving one does not close another.
UniqueFd high_copy(int fd) { return UniqueFd{::fcntl(fd, F_DUPFD_CLOEXEC, 16)}; }

std::string signal_name(int number) {
  const char* const name = ::sigabbrev_np(number);
  return name ? fmt::format("SIG{}", name) : fmt::format("signal {}", number);
}

}  // namespace

Result<std::unique_ptr<WorkerProcess>> WorkerProcess::start(int library, int memory) {
  if (!can_be_dac_worker())
    return fail(Errc::kUnsupported, "this program cannot run a data access library");
  std::array<int, 2> pair{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair.data()) != 0)
    return fail(Errc::kSystem, "cannot make a socket pair: {}", errno_text());
  UniqueFd ours{pair[0]};
  const UniqueFd theirs{pair[1]};
  const auto channel = high_copy(theirs.get());
  const auto file = high_copy(library);
  const auto readable = memory >= 0 ? high_copy(memory) : UniqueFd{};
  if (!channel || !file || (memory >= 0 && !readable))
    return fail(Errc::kSystem, "cannot copy a descriptor: {}", errno_text());

  SpawnPlan plan;
  for (const int standard : {0, 1, 2})
    ::posix_spawn_file_actions_addopen(&plan.files, standard, "/dev/null", O_RDWR, 0);
  ::posix_spawn_file_actions_adddup2(&plan.files, channel.get(), kChannelFd);
  ::posix_spawn_file_actions_adddup2(&plan.files, file.get(), kLibraryFd);
  if (readable)
    ::posix_spawn_file_actions_adddup2(&plan.files, readable.get(), kMemoryFd);
  else
    ::posix_spawn_file_actions_addopen(&plan.files, kMemoryFd, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_addclosefrom_np(&plan.files, kMemoryFd + 1);
  sigset_t none, every;
  ::sigemptyset(&none);
  ::sigfillset(&every);
  ::posix_spawnattr_setsigmask(&plan.attributes, &none);
  ::posix_spawnattr_setsigdefault(&plan.attributes, &every);
  // A process group of its own: the terminal's Ctrl+C is for us.
  ::posix_spawnattr_setflags(
      &plan.attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
  std::string program = "clrscope", verb = kDacWorkerVerb;
  const std::array<char*, 3> arguments{program.data(), verb.data(), nullptr};
  const std::array<char*, 1> environment{nullptr};  // nothing of ours
  pid_t pid = 0;
  if (const int error = ::posix_spawn(&pid, "/proc/self/exe", &plan.files, &plan.attributes,
                                      arguments.data(), environment.data());
      error != 0)
    return fail(errc_of(error), "cannot start the DAC worker: {}", errno_text(error));
  return std::unique_ptr<WorkerProcess>{new WorkerProcess{pid, std::move(ours)}};
}

WorkerProcess::~WorkerProcess() { end(); }

std::string WorkerProcess::end() {
  if (pid_ <= 0) return {};
  socket_.reset();
  ::kill(pid_, SIGKILL);  // what ended already keeps its own end
  int status = 0;
  while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  pid_ = 0;
  if (WIFEXITED(status)) return fmt::format("it ended with code {}", WEXITSTATUS(status));
  if (WIFSIGNALED(status) && WTERMSIG(status) == SIGXCPU) return "it used up its processor time";
  if (WIFSIGNALED(status) && WTERMSIG(status) != SIGKILL)
    return fmt::format("it crashed ({})", signal_name(WTERMSIG(status)));
  return "it was ended";
}

Result<std::vector<std::uint8_t>> WorkerProcess::exchange(Kind question, Bytes body,
                                                          MemorySource& memory,
                                                          const Deadline& deadline) {
  TRY(send(socket_.get(), question, body, deadline));
  std::vector<std::uint8_t> bytes;
  for (;;) {
    auto said = TRY(receive(socket_.get(), kMostAnswer, deadline));
    switch (said.kind) {
      case Kind::kRead: {
        ByteReader in{said.body};
        const auto address = in.read<std::uint64_t>();
        const auto size = in.read<std::uint32_t>();
        if (!in.ok() || !in.at_end() || size > kMostRead)
          return fail(Errc::kCorrupt, "it asked for {} bytes of memory", size);
        bytes.resize(size);
        bytes.resize(memory.read(address, bytes));
        TRY(send(socket_.get(), Kind::kMemory, bytes, deadline));
        continue;
      }
      case Kind::kAnswer:
        return std::move(said.body);
      case Kind::kNotFound:
        return fail(Errc::kNotFound, "{}", read_printable(said.body));
      case Kind::kRefused:
        return fail(Errc::kUnsupported, "{}", read_printable(said.body));
      case Kind::kForbidden:
        return fail(Errc::kDenied, "{}", read_printable(said.body));
      default:
        return fail(Errc::kCorrupt, "it sent a message of unknown kind {}",
                    static_cast<int>(said.kind));
    }
  }
}

Result<std::vector<std::uint8_t>> WorkerProcess::ask(Kind question, Bytes body,
                                                     MemorySource& memory,
                                                     std::chrono::nanoseconds patience) {
  if (!alive()) return fail(Errc::kGone, "it has ended");
  auto answer = exchange(question, body, memory, Deadline{patience});
  if (answer || answer.error().code == Errc::kNotFound || answer.error().code == Errc::kUnsupported)
    return answer;
  const auto ended = end();
  if (answer.error().code == Errc::kGone) return fail(Errc::kGone, "{}", ended);
  if (answer.error().code == Errc::kTimeout)
    return fail(Errc::kTimeout, "it did not answer within {}", format_duration(patience));
  return answer;
}

}  // namespace clrscope::inspect::dac
