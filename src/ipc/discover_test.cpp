// A process of the test's own plays .NET: it names a thread as the runtime does and listens on a
// diagnostic socket.
#include "ipc/discover.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <latch>
#include <thread>

#include "base/io.h"
#include "ipc/endpoint.h"
#include "ipc/socket_folder.h"

namespace clrscope::ipc {
namespace {

using testing::HasSubstr;
using namespace std::chrono_literals;

constexpr const char* kRole = "CLRSCOPE_PATIENT";  // "socket", "odd key" or "silent"

UniqueFd bound_socket(const std::string& path) {
  UniqueFd fd{::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)};
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof address.sun_path - 1);
  CHECK(::bind(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) == 0);
  return fd;
}

std::string socket_name(pid_t pid, std::uint64_t key) { return socket_file_name({pid, key}); }

// Not a test of its own: what the child process runs.
TEST(Patient, PlaysARuntime) {
  const char* role = std::getenv(kRole);
  if (!role) GTEST_SKIP() << "only as a child of the tests below";
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  std::latch named{1};
  const std::jthread thread{[&](const std::stop_token& stop) {
    ::prctl(PR_SET_NAME, ".NET SynchManag");
    named.count_down();
    std::mutex mutex;
    std::condition_variable_any never;
    std::unique_lock lock{mutex};
    never.wait(lock, stop, [] { return false; });
  }};
  named.wait();
  UniqueFd listener;
  if (std::string_view{role} != "silent") {
    const bool odd = std::string_view{role} == "odd key";
    const auto key = odd ? 1 : proc_status(::getpid())->start_ticks;
    listener =
        bound_socket(std::string{std::getenv("TMPDIR")} + "/" + socket_name(::getpid(), key));
    ASSERT_EQ(::listen(listener.get(), 4), 0);
  }
  ASSERT_EQ(::write(STDOUT_FILENO, "\x01", 1), 1);
  char byte = 0;
  while (::read(STDIN_FILENO, &byte, 1) > 0) {
  }
}

class Child {
 public:
  Child(const char* role, const std::string& folder, std::vector<std::string> variables = {}) {
    int in[2], out[2];
    CHECK(::pipe2(in, O_CLOEXEC) == 0 && ::pipe2(out, O_CLOEXEC) == 0);
    variables.push_back(std::string{kRole} + "=" + role);
    variables.push_back("TMPDIR=" + folder);
    pid_ = ::fork();
    if (pid_ == 0) {
      ::dup2(in[0], STDIN_FILENO);
      ::dup2(out[1], STDOUT_FILENO);
      std::vector<char*> environment;
      for (auto& variable : variables) environment.push_back(variable.data());
      environment.push_back(nullptr);
      ::execle("/proc/self/exe", "/app/patient", "--gtest_filter=Patient.*", nullptr,
               environment.data());
      ::_exit(127);
    }
    ::close(in[0]);
    ::close(out[1]);
    stdin_.reset(in[1]);
    const UniqueFd answers{out[0]};
    for (char byte = 0; byte != '\x01';)  // gtest talks before
      CHECK(::read(answers.get(), &byte, 1) == 1);
  }
  ~Child() {
    stdin_.reset();
    ::waitpid(pid_, nullptr, 0);
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  pid_t pid() const { return pid_; }

 private:
  pid_t pid_ = 0;
  UniqueFd stdin_;
};

class Discover : public testing::Test {
 protected:
  Discover() {
    std::string folder = "/tmp/clrscope-tmp-XXXXXX";
    folder_ = ::mkdtemp(folder.data());
  }
  ~Discover() override { std::filesystem::remove_all(folder_); }

  // Sockets in the folder are our own.
  std::string choose(pid_t namespace_pid, std::uint64_t start_ticks) const {
    const UniqueFd folder{::open(folder_.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC)};
    SocketFolders folders;
    return choose_socket(folder.get(), folders.in(folder.get()),
                         {::getpid(), namespace_pid, start_ticks});
  }

  std::string folder_;
};

TEST_F(Discover, FindsASocketInTheTemporaryFolderOfTheProcess) {
  const Child child{"socket", folder_ + "/"};
  const auto process = find_process(child.pid());
  ASSERT_TRUE(process) << process.error().what;
  EXPECT_TRUE(process->reachable()) << process->unreachable.what;
  EXPECT_EQ(process->socket, folder_ + "/" + socket_name(child.pid(), process->status.start_ticks));
  EXPECT_EQ(process->name, "ipc_test");
  EXPECT_EQ(process->command_line.at(0), "/app/patient");
  EXPECT_EQ(process->status.namespace_pid, child.pid());
}

TEST_F(Discover, ListsEveryProcessThatHasARuntime) {
  const Child with{"socket", folder_};
  const Child without{"silent", folder_};
  const auto processes = find_processes();
  ASSERT_TRUE(processes) << processes.error().what;
  std::map<pid_t, bool> reachable;
  for (const auto& process : *processes) reachable[process.pid] = process.reachable();
  EXPECT_EQ(reachable.at(with.pid()), true);
  EXPECT_EQ(reachable.at(without.pid()), false);
  EXPECT_FALSE(reachable.contains(::getpid())) << "we are not .NET";
  const auto others = find_processes([&](pid_t pid) { return pid == with.pid(); });
  ASSERT_TRUE(others) << others.error().what;
  EXPECT_TRUE(
      std::ranges::none_of(*others, [&](const auto& one) { return one.pid == with.pid(); }));
  EXPECT_TRUE(
      std::ranges::any_of(*others, [&](const auto& one) { return one.pid == without.pid(); }));
}

TEST_F(Discover, NamesTheSwitchThatTurnedDiagnosticsOff) {
  const Child child{"silent", folder_, {"DOTNET_EnableDiagnostics_IPC=0"}};
  const auto process = find_process(child.pid());
  ASSERT_TRUE(process) << process.error().what;
  EXPECT_EQ(process->unreachable.what, "diagnostics are off (DOTNET_EnableDiagnostics_IPC=0)");
}

TEST_F(Discover, SaysWhereASocketWasMissed) {
  const Child child{"silent", folder_, {"DOTNET_EnableDiagnostics=1"}};
  const auto process = find_process(child.pid());
  ASSERT_TRUE(process) << process.error().what;
  EXPECT_THAT(process->unreachable.what, HasSubstr("no diagnostic socket in " + folder_));
}

TEST_F(Discover, RefusesTwoProcessesOfOneName) {
  const Child one{"socket", folder_};
  const Child two{"socket", folder_};
  const auto process = find_process_named("ipc_test");
  ASSERT_FALSE(process);
  EXPECT_EQ(process.error().code, Errc::kUsage);
  EXPECT_THAT(process.error().hint, HasSubstr(std::to_string(two.pid())));
}

TEST_F(Discover, SaysThatNoProcessHasThatName) {
  const auto process = find_process_named("no-such-application");
  ASSERT_FALSE(process);
  EXPECT_EQ(process.error().code, Errc::kNotFound);
}

TEST_F(Discover, TellsAProcessWithoutRuntimeFromNoProcess) {
  EXPECT_EQ(find_process(::getpid()).error().code, Errc::kUnsupported);
  EXPECT_EQ(find_process(0x3fffffff).error().code, Errc::kNotFound);
  EXPECT_EQ(find_process(-1).error().code, Errc::kNotFound);
}

// What is at the name of its socket is not a socket of its own.
TEST_F(Discover, RefusesASocketThatAnotherProcessListensOn) {
  const Child child{"silent", folder_};
  const auto key = proc_status(child.pid())->start_ticks;
  const auto planted = bound_socket(folder_ + "/" + socket_name(child.pid(), key));
  ASSERT_EQ(::listen(planted.get(), 4), 0);
  const auto process = find_process(child.pid());
  ASSERT_TRUE(process) << process.error().what;
  const auto connection = connect_endpoint(process->socket, child.pid())->connect(Deadline{5s});
  ASSERT_FALSE(connection);
  EXPECT_EQ(connection.error().code, Errc::kDenied);
  EXPECT_THAT(connection.error().what, HasSubstr(fmt::format("of process {} ", child.pid())));
  EXPECT_THAT(connection.error().what, HasSubstr(fmt::format(": process {} ", ::getpid())));
}

TEST_F(Discover, ConnectsToTheSocketOfTheProcess) {
  const Child child{"socket", folder_};
  const auto process = find_process(child.pid());
  ASSERT_TRUE(process) << process.error().what;
  const auto endpoint = connect_endpoint(process->socket, child.pid());
  const auto connection = endpoint->connect(Deadline{5s});
  ASSERT_TRUE(connection) << connection.error().what;
  EXPECT_EQ(endpoint->peer(), child.pid());
}

TEST_F(Discover, DoesNotFollowALinkAtTheNameOfTheSocket) {
  const Child child{"silent", folder_};
  const auto elsewhere = bound_socket(folder_ + "/elsewhere");
  ASSERT_EQ(::listen(elsewhere.get(), 4), 0);
  const auto key = proc_status(child.pid())->start_ticks;
  std::filesystem::create_symlink(folder_ + "/elsewhere",
                                  folder_ + "/" + socket_name(child.pid(), key));
  const auto process = find_process(child.pid());
  ASSERT_TRUE(process) << process.error().what;
  EXPECT_EQ(process->socket, "");
  EXPECT_FALSE(process->reachable());
}

TEST_F(Discover, PrefersTheSocketOfTheProcessToANewerOneOfAnother) {
  const Child child{"odd key", folder_};
  const auto newer = bound_socket(folder_ + "/" + socket_name(child.pid(), 2));
  ASSERT_EQ(::listen(newer.get(), 4), 0);
  std::filesystem::last_write_time(folder_ + "/" + socket_name(child.pid(), 2),
                                   std::filesystem::file_time_type::clock::now() + 1h);
  const auto process = find_process(child.pid());
  ASSERT_TRUE(process) << process.error().what;
  EXPECT_EQ(process->socket, folder_ + "/" + socket_name(child.pid(), 1));
}

TEST_F(Discover, PrefersTheSocketThatBearsTheStartOfTheProcess) {
  const auto right = bound_socket(folder_ + "/" + socket_name(5, 100));
  const auto newer = bound_socket(folder_ + "/" + socket_name(5, 200));
  ASSERT_EQ(::listen(newer.get(), 1), 0);
  EXPECT_EQ(choose(5, 100), socket_name(5, 100));
}

TEST_F(Discover, TakesTheNewestLiveSocketWhenNoneBearsTheStart) {
  const auto old_time = std::filesystem::file_time_type::clock::now() - 1h;
  const auto live = bound_socket(folder_ + "/" + socket_name(5, 100));
  const auto older = bound_socket(folder_ + "/" + socket_name(5, 200));
  ASSERT_EQ(::listen(live.get(), 1), 0);
  ASSERT_EQ(::listen(older.get(), 1), 0);
  std::filesystem::last_write_time(folder_ + "/" + socket_name(5, 200), old_time);
  const auto stale = bound_socket(folder_ + "/" + socket_name(5, 300));  // newest; nobody listens
  EXPECT_EQ(choose(5, 1), socket_name(5, 100));
  EXPECT_EQ(choose(6, 1), "");
}

TEST(SocketName, HoldsPidAndKey) {
  const auto name = parse_socket_name("dotnet-diagnostic-4001-34994-socket");
  ASSERT_TRUE(name);
  EXPECT_EQ(name->pid, 4001);
  EXPECT_EQ(name->key, 34994U);
}

TEST(SocketName, IsWrittenAsItIsRead) {
  EXPECT_EQ(socket_file_name({4001, 34994}), "dotnet-diagnostic-4001-34994-socket");
}

TEST(SocketName, IsNothingElse) {
  for (const char* other :
       {"", "dotnet-diagnostic-socket", "dotnet-diagnostic--socket", "dotnet-diagnostic-1-socket",
        "dotnet-diagnostic-1-2-3-socket", "dotnet-diagnostic-0-2-socket",
        "dotnet-diagnostic-99999999999-2-socket", "dotnet-diagnostic-x-2-socket",
        "clr-debug-pipe-1-2-in"})
    EXPECT_FALSE(parse_socket_name(other)) << other;
}

}  // namespace
}  // namespace clrscope::ipc
