#include "ops/child.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "base/log.h"
#include "ipc/commands.h"
#include "ipc/greeter.h"

extern char** environ;

namespace clrscope::ops {
namespace {

constexpr const char* kPortVariable = "DOTNET_DiagnosticPorts";
constexpr std::chrono::milliseconds kLook{
    100};  // how often a wait looks for the other reasons to end

Result<std::string> make_private_folder() {
  const char* tmp = std::getenv("TMPDIR");
  std::string path = fmt::format("{}/clrscope-XXXXXX", tmp && *tmp ? tmp : "/tmp");
  if (!::mkdtemp(path.data()))
    return fail(errc_of(errno), "cannot create the folder {}: {}", path, errno_text());
  return path;
}

// A fresh start for the child: default signals, none blocked. It stays in our process group, so
// that the terminal is its own too.
struct SpawnAttributes {
  SpawnAttributes() {
    ::posix_spawnattr_init(&value);
    sigset_t none, defaults;
    sigemptyset(&none);
    sigfillset(&defaults);
    ::posix_spawnattr_setsigmask(&value, &none);
    ::posix_spawnattr_setsigdefault(&value, &defaults);
    ::posix_spawnattr_setflags(&value, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  }
  ~SpawnAttributes() { ::posix_spawnattr_destroy(&value); }
  SpawnAttributes(const SpawnAttributes&) = delete;
  SpawnAttributes& operator=(const SpawnAttributes&) = delete;
  posix_spawnattr_t value{};
};

struct SpawnFiles {
  explicit SpawnFiles(bool show_io) {
    ::posix_spawn_file_actions_init(&value);
    if (show_io) return;
    ::posix_spawn_file_actions_addopen(&value, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    ::posix_spawn_file_actions_addopen(&value, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  }
  ~SpawnFiles() { ::posix_spawn_file_actions_destroy(&value); }
  SpawnFiles(const SpawnFiles&) = delete;
  SpawnFiles& operator=(const SpawnFiles&) = delete;
  posix_spawn_file_actions_t value{};
};

Result<pid_t> spawn(const std::vector<std::string>& command, const std::string& port_setting,
                    bool show_io, const std::map<std::string, std::string>& more) {
  std::vector<std::string> environment;
  for (char** entry = environ; *entry; ++entry) {
    const std::string_view text{*entry};
    const std::string name{text.substr(0, text.find('='))};
    if (name != kPortVariable && !more.contains(name)) environment.emplace_back(text);
  }
  for (const auto& [name, value] : more) environment.push_back(fmt::format("{}={}", name, value));
  environment.push_back(fmt::format("{}={}", kPortVariable, port_setting));

  const auto pointers = [](const std::vector<std::string>& texts) {
    std::vector<char*> list;
    for (const auto& text : texts) list.push_back(const_cast<char*>(text.c_str()));
    list.push_back(nullptr);
    return list;
  };
  pid_t pid = 0;
  const SpawnFiles files{show_io};
  const SpawnAttributes attributes;
  const int error = ::posix_spawnp(&pid, command[0].c_str(), &files.value, &attributes.value,
                                   pointers(command).data(), pointers(environment).data());
  if (error != 0)
    return fail(errc_of(error), "cannot start {}: {}", command[0], errno_text(error))
        .hint("check the path of the command, or that it is on the PATH");
  return pid;
}

int shell_exit_code(int status) {
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

// Resumes runtimes other than the first as they come.
void let_others_go(std::stop_token stop, ipc::ReversePort& port) {
  ipc::Greeter greeter{port, ipc::Greeter::Words::kResume, ipc::kDefaultPatience};
  while (!stop.stop_requested())
    for (const auto& [runtime, resumed] : greeter.wait(Deadline{kLook}))
      log(LogLevel::kDebug, "another runtime connected, process {}: {}", runtime.pid,
          resumed ? "it continues unrecorded" : resumed.error().what);
}

}  // namespace

Result<std::unique_ptr<Child>> Child::start(const std::vector<std::string>& command, bool show_io,
                                            const std::map<std::string, std::string>& more) {
  auto folder = TRY(make_private_folder());
  auto port = ipc::ReversePort::listen(folder + "/port");
  if (!port) {
    std::filesystem::remove_all(folder);
    return fail(port.error());
  }
  std::unique_ptr<Child> child{new Child{folder, std::move(*port)}};  // its constructor is private
  child->pid_ = TRY(spawn(command, folder + "/port,suspend", show_io, more));
  child->pid_fd_ = UniqueFd{static_cast<int>(::syscall(SYS_pidfd_open, child->pid_, 0))};
  return child;
}

Child::~Child() {
  let_others_go_ = {};
  port_.reset();
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

Result<ipc::Advertisement> Child::wait_for_runtime(std::chrono::nanoseconds patience, int stop_fd) {
  const Deadline deadline{patience};
  while (!deadline.passed()) {
    if (auto runtime = port_->next_runtime(Deadline{kLook})) return runtime;
    if (const auto code = wait(std::chrono::nanoseconds{0}))
      return fail(Errc::kGone,
                  "the command ended with exit code {} before a .NET runtime started in it", *code)
          .hint("check that it is a .NET program");
    pollfd stopped{stop_fd, POLLIN, 0};
    if (stop_fd >= 0 && ::poll(&stopped, 1, 0) > 0)
      return fail(Errc::kGone, "interrupted before a .NET runtime started");
  }
  return fail(Errc::kTimeout, "no .NET runtime started in process {} within {} s", pid_,
              std::chrono::duration_cast<std::chrono::seconds>(patience).count())
      .hint("check that it is a .NET program with diagnostics enabled");
}

Result<> Child::resume(ipc::Endpoint& runtime) {
  if (const auto cleared = ipc::set_environment_variable(runtime, kPortVariable, ""); !cleared)
    log(LogLevel::kDebug, "{} stays in the environment: {}", kPortVariable, cleared.error().what);
  TRY(ipc::resume_runtime(runtime));
  let_others_go_ = std::jthread{[this](std::stop_token stop) { let_others_go(stop, *port_); }};
  return {};
}

void Child::signal(int number) const {
  if (!exit_code_) ::kill(pid_, number);
}

std::optional<int> Child::wait(std::chrono::nanoseconds patience) {
  if (exit_code_) return exit_code_;
  const Deadline deadline{patience};
  pollfd ended{pid_fd_.get(), POLLIN, 0};
  while (::poll(&ended, 1, deadline.poll_timeout()) < 0 && errno == EINTR) {
  }
  int status = 0;
  if (::waitpid(pid_, &status, WNOHANG) == pid_) exit_code_ = shell_exit_code(status);
  return exit_code_;
}

}  // namespace clrscope::ops
