#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <fstream>
#include <thread>

#include "fakes/fake_runtime.h"
#include "ipc/commands.h"
#include "ipc/endpoint.h"
#include "ipc/frame.h"

namespace clrscope::ipc {
namespace {

using fakes::FakeRuntime;
using testing::HasSubstr;
using namespace std::chrono_literals;

using Cookie = std::array<std::uint8_t, 16>;
constexpr Cookie kFirst{1};
constexpr Cookie kSecond{2};

void send_bytes(const UniqueFd& connection, Bytes bytes) {
  ASSERT_EQ(::send(connection.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL),
            static_cast<ssize_t>(bytes.size()));
}

class ReversePortTest : public testing::Test {
 protected:
  ReversePortTest() {
    std::string folder = "/tmp/clrscope-port-XXXXXX";
    folder_ = ::mkdtemp(folder.data());
    path_ = folder_ + "/port";
  }
  ~ReversePortTest() override {
    ::unlink(path_.c_str());
    ::rmdir(folder_.c_str());
  }

  std::unique_ptr<ReversePort> listen(const PortLimits& limits = {}) {
    auto port = ReversePort::listen(path_, 0600, limits);
    EXPECT_TRUE(port) << port.error().what;
    return std::move(*port);
  }

  UniqueFd advertise(const Cookie& cookie, std::uint64_t pid) {
    auto connection = FakeRuntime::connect_to(path_);
    send_bytes(connection, FakeRuntime::advertisement(cookie, pid));
    return connection;
  }

  // Hung up on, or not yet: waits for the end.
  static bool is_hung_up(const UniqueFd& connection) {
    pollfd end{connection.get(), POLLIN, 0};
    std::uint8_t byte = 0;
    return ::poll(&end, 1, 5000) == 1 && ::recv(connection.get(), &byte, 1, MSG_DONTWAIT) <= 0;
  }

  std::string folder_;
  std::string path_;
};

// Runs in a process of its own, which ends with the object.
class OtherProcess {
 public:
  template <class Work>
  explicit OtherProcess(Work work) {
    pid_ = ::fork();
    if (pid_ != 0) return;
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    work();
    for (;;) ::pause();
  }
  ~OtherProcess() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  OtherProcess(const OtherProcess&) = delete;
  OtherProcess& operator=(const OtherProcess&) = delete;
  pid_t pid() const { return pid_; }

 private:
  pid_t pid_ = 0;
};

// Until the count is there: the port counts on a thread of its own.
template <class Condition>
bool comes_true(Condition condition) {
  const Deadline deadline{10s};
  while (!deadline.passed()) {
    if (condition()) return true;
    std::this_thread::yield();
  }
  return false;
}

TEST_F(ReversePortTest, ReturnsEveryRuntimeOnce) {
  const auto port = listen();
  const auto first = advertise(kFirst, 100);
  EXPECT_EQ(port->next_runtime(Deadline{5s})->pid, 100U);
  const auto again = advertise(kFirst, 100);
  const auto second = advertise(kSecond, 200);
  const auto next = port->next_runtime(Deadline{5s});
  ASSERT_TRUE(next);
  EXPECT_EQ(next->pid, 200U);
  EXPECT_EQ(next->cookie, kSecond);
}

TEST_F(ReversePortTest, TellsWhoWaitsAndForgetsWhoHasEnded) {
  const auto port = listen();
  auto connection = advertise(kFirst, 100);
  const auto runtime = port->next_runtime(Deadline{5s});
  ASSERT_TRUE(runtime);
  EXPECT_EQ(runtime->peer, ::getpid());
  EXPECT_TRUE(port->waits(*runtime));
  connection.reset();
  EXPECT_FALSE(port->waits(*runtime));
  port->forget(*runtime);
  EXPECT_FALSE(port->endpoint(*runtime)->connect(Deadline{10ms}));
  const auto back = advertise(kFirst, 100);  // it was only busy: it is met anew
  EXPECT_EQ(port->next_runtime(Deadline{5s})->pid, 100U);
}

// The thread that watches idle connections sees the end of one at the same time.
TEST_F(ReversePortTest, MeetsARuntimeAnewHoweverOftenItIsForgotten) {
  const auto port = listen();
  for (int time = 0; time < 500; ++time) {
    auto connection = advertise(kFirst, 100);
    const auto runtime = port->next_runtime(Deadline{5s});
    ASSERT_TRUE(runtime) << "after " << time << " times: " << runtime.error().what;
    connection.reset();
    port->forget(*runtime);
  }
}

TEST_F(ReversePortTest, LetsOthersConnectWhenTold) {
  struct stat file {};
  {
    const auto port = ReversePort::listen(path_, 0660);
    ASSERT_TRUE(port);
    ASSERT_EQ(::stat(path_.c_str(), &file), 0);
    EXPECT_EQ(file.st_mode & 0777, 0660U);
  }
  const auto port = listen();
  ASSERT_EQ(::stat(path_.c_str(), &file), 0);
  EXPECT_EQ(file.st_mode & 0777, 0600U);
}

TEST_F(ReversePortTest, SaysThatNobodyCame) {
  const auto port = listen();
  const auto none = port->next_runtime(Deadline{10ms});
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, Errc::kTimeout);
  EXPECT_THAT(none.error().hint, HasSubstr("DOTNET_DiagnosticPorts=" + path_));
}

TEST_F(ReversePortTest, CarriesACommandOverTheIdleConnection) {
  const auto port = listen();
  FakeRuntime fake;
  fake.answer({kResumeRuntime.set, kResumeRuntime.id}, {0, 0, 0, 0});
  auto connection = advertise(kFirst, 100);
  const auto runtime = port->next_runtime(Deadline{5s});
  ASSERT_TRUE(runtime);
  const auto endpoint = port->endpoint(*runtime);
  std::jthread serving{[&] { EXPECT_TRUE(fake.serve(std::move(connection))); }};
  const auto resumed = resume_runtime(*endpoint, 5s);
  EXPECT_TRUE(resumed) << resumed.error().what;
}

TEST_F(ReversePortTest, WaitsForTheRuntimeToConnectAgain) {
  const auto port = listen();
  FakeRuntime fake;
  fake.answer({kResumeRuntime.set, kResumeRuntime.id}, {0, 0, 0, 0});
  std::jthread runtime_thread{[&] {
    for (int command = 0; command < 3; ++command) EXPECT_TRUE(fake.serve(advertise(kFirst, 100)));
  }};
  const auto runtime = port->next_runtime(Deadline{5s});
  ASSERT_TRUE(runtime);
  const auto endpoint = port->endpoint(*runtime);
  for (int command = 0; command < 3; ++command) EXPECT_TRUE(resume_runtime(*endpoint, 5s));
}

TEST_F(ReversePortTest, GivesUpOnARuntimeThatDoesNotConnectAgain) {
  const auto port = listen();
  const auto connection = advertise(kFirst, 100);
  const auto runtime = port->next_runtime(Deadline{5s});
  ASSERT_TRUE(runtime);
  const auto endpoint = port->endpoint(*runtime);
  ASSERT_TRUE(endpoint->connect(Deadline{5s}));
  const auto again = endpoint->connect(Deadline{10ms});
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().code, Errc::kTimeout);
}

TEST_F(ReversePortTest, ServesOthersBesideGarbageAndHalfAnAdvertisement) {
  const auto port = listen();
  const auto silent = FakeRuntime::connect_to(path_);
  const auto half = FakeRuntime::connect_to(path_);
  send_bytes(half, Bytes{FakeRuntime::advertisement(kSecond, 200)}.first(17));
  const auto garbage = FakeRuntime::connect_to(path_);
  send_bytes(garbage, std::vector<std::uint8_t>(40, 0x5a));
  const auto proper = advertise(kFirst, 100);
  const auto runtime = port->next_runtime(Deadline{5s});
  ASSERT_TRUE(runtime);
  EXPECT_EQ(runtime->pid, 100U);
  std::uint8_t byte = 0;
  EXPECT_LE(::recv(garbage.get(), &byte, 1, 0), 0) << "garbage is hung up on";
}

TEST_F(ReversePortTest, CompletesAnAdvertisementThatComesInPieces) {
  const auto port = listen();
  const auto connection = FakeRuntime::connect_to(path_);
  const auto bytes = FakeRuntime::advertisement(kFirst, 100);
  for (const auto& byte : bytes) send_bytes(connection, {&byte, 1});
  EXPECT_EQ(port->next_runtime(Deadline{5s})->pid, 100U);
}

TEST_F(ReversePortTest, ReplacesADeadIdleConnection) {
  const auto port = listen();
  FakeRuntime fake;
  fake.answer({kResumeRuntime.set, kResumeRuntime.id}, {0, 0, 0, 0});
  auto dead = advertise(kFirst, 100);
  const auto runtime = port->next_runtime(Deadline{5s});
  ASSERT_TRUE(runtime);
  dead.reset();
  const auto endpoint = port->endpoint(*runtime);
  EXPECT_FALSE(endpoint->connect(Deadline{10ms}));
  std::jthread serving{[&] { EXPECT_TRUE(fake.serve(advertise(kFirst, 100))); }};
  EXPECT_TRUE(resume_runtime(*endpoint, 5s));
}

TEST_F(ReversePortTest, RefusesTheCookieOfAnotherProcess) {
  const auto port = listen();
  FakeRuntime fake;
  fake.answer({kResumeRuntime.set, kResumeRuntime.id}, {0, 0, 0, 0});
  auto connection = advertise(kFirst, 100);
  const auto runtime = port->next_runtime(Deadline{5s});
  ASSERT_TRUE(runtime);
  UniqueFd kept;
  const OtherProcess impostor{[&] { kept = advertise(kFirst, 100); }};
  EXPECT_TRUE(comes_true([&] { return port->refused().impostors == 1; }));
  const auto endpoint = port->endpoint(*runtime);
  std::jthread serving{[&] { EXPECT_TRUE(fake.serve(std::move(connection))); }};
  EXPECT_TRUE(resume_runtime(*endpoint, 5s)) << "the first one is still there";
}

TEST_F(ReversePortTest, RefusesTheCookieOfAProcessThatIsBusy) {
  const auto port = listen();
  const auto connection = advertise(kFirst, 100);
  const auto runtime = port->next_runtime(Deadline{5s});
  ASSERT_TRUE(runtime);
  const auto endpoint = port->endpoint(*runtime);
  const auto taken = endpoint->connect(Deadline{5s});
  ASSERT_TRUE(taken);
  UniqueFd kept;
  const OtherProcess impostor{[&] { kept = advertise(kFirst, 100); }};
  EXPECT_TRUE(comes_true([&] { return port->refused().impostors == 1; }));
  EXPECT_FALSE(port->waits(*runtime));
  const auto again = advertise(kFirst, 100);
  EXPECT_TRUE(endpoint->connect(Deadline{5s})) << "the same process comes back";
}

TEST_F(ReversePortTest, KeepsFewSilentConnectionsOfOneProcess) {
  const auto port = listen({.silent_per_process = 3});
  std::vector<UniqueFd> silent;
  for (int i = 0; i < 5; ++i) silent.push_back(FakeRuntime::connect_to(path_));
  EXPECT_TRUE(is_hung_up(silent[0]));
  EXPECT_TRUE(is_hung_up(silent[1]));
  EXPECT_TRUE(comes_true([&] { return port->refused().silent == 2; }));
  send_bytes(silent[4], FakeRuntime::advertisement(kFirst, 100));
  EXPECT_TRUE(port->next_runtime(Deadline{5s})) << "the newest stay";
}

TEST_F(ReversePortTest, LetsOneProcessTakeNoPlaceOfAnother) {
  const auto port = listen({.silent = 4, .silent_per_process = 3});
  const auto mine = FakeRuntime::connect_to(path_);
  std::vector<UniqueFd> theirs;
  const OtherProcess other{[&] {
    for (int i = 0; i < 10; ++i) theirs.push_back(FakeRuntime::connect_to(path_));
  }};
  EXPECT_TRUE(comes_true([&] { return port->refused().silent == 7; }));
  send_bytes(mine, FakeRuntime::advertisement(kFirst, 100));
  EXPECT_TRUE(port->next_runtime(Deadline{5s}));
}

TEST_F(ReversePortTest, KnowsFewRuntimesOfOneProcess) {
  const auto port = listen({.runtimes_per_process = 2});
  std::vector<UniqueFd> connections;
  for (std::uint8_t i = 1; i <= 3; ++i) {
    connections.push_back(advertise(Cookie{i}, i));
    EXPECT_EQ(port->next_runtime(Deadline{i < 3 ? 5s : 0s}).has_value(), i < 3);
  }
  EXPECT_TRUE(is_hung_up(connections[2]));
  EXPECT_TRUE(comes_true([&] { return port->refused().excess == 1; }));
  EXPECT_EQ(words_for(port->refused()), "1 runtimes beyond the limit");
}

TEST_F(ReversePortTest, MakesRoomForNewRuntimesWhenOldOnesHaveEnded) {
  const auto port = listen({.runtimes = 2});
  for (std::uint8_t i = 1; i <= 5; ++i) {
    UniqueFd kept;
    const OtherProcess runtime{[&] { kept = advertise(Cookie{i}, i); }};
    EXPECT_TRUE(port->next_runtime(Deadline{5s})) << "number " << int{i};
  }
}

TEST_F(ReversePortTest, TriesLessAndLessOftenWithoutDescriptors) {
  const auto port = listen();
  auto client = FakeRuntime::connect_to(path_);  // the port is ready
  send_bytes(client, FakeRuntime::advertisement(kFirst, 100));
  ASSERT_TRUE(port->next_runtime(Deadline{5s}));
  rlimit files{};
  ::getrlimit(RLIMIT_NOFILE, &files);
  const auto before = TraceClock::now();
  UniqueFd second{::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)};
  const rlimit none{.rlim_cur = 3, .rlim_max = files.rlim_max};
  ::setrlimit(RLIMIT_NOFILE, &none);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path_.copy(address.sun_path, sizeof address.sun_path - 1);
  const int connected =
      ::connect(second.get(), reinterpret_cast<sockaddr*>(&address), sizeof address);
  const bool failed = comes_true([&] { return port->refused().failed >= 5; });
  const auto time = TraceClock::now() - before;
  ::setrlimit(RLIMIT_NOFILE, &files);
  ASSERT_EQ(connected, 0);
  ASSERT_TRUE(failed);
  EXPECT_GE(time, 150ms) << "10, 20, 40 and 80 ms between five attempts";
  send_bytes(second, FakeRuntime::advertisement(kSecond, 200));
  EXPECT_TRUE(port->next_runtime(Deadline{10s})) << "taken when there are descriptors again";
}

TEST_F(ReversePortTest, LetsNobodyElseConnect) {
  const auto port = listen();
  struct stat file {};
  ASSERT_EQ(::stat(path_.c_str(), &file), 0);
  EXPECT_EQ(file.st_mode & 0777, 0600U);
}

TEST_F(ReversePortTest, RemovesItsSocketFile) {
  listen().reset();
  EXPECT_NE(::access(path_.c_str(), F_OK), 0);
}

TEST_F(ReversePortTest, ReplacesTheSocketOfADeadListener) {
  {
    const UniqueFd dead{::socket(AF_UNIX, SOCK_STREAM, 0)};
    sockaddr_storage address{};
    address.ss_family = AF_UNIX;
    path_.copy(reinterpret_cast<char*>(&address) + sizeof(sa_family_t), path_.size());
    ASSERT_EQ(::bind(dead.get(), reinterpret_cast<sockaddr*>(&address),
                     static_cast<socklen_t>(sizeof(sa_family_t) + path_.size() + 1)),
              0);
  }
  const auto port = listen();
  const auto connection = advertise(kFirst, 100);
  EXPECT_TRUE(port->next_runtime(Deadline{5s}));
}

TEST_F(ReversePortTest, RefusesThePathOfALiveListener) {
  const auto port = listen();
  const auto second = ReversePort::listen(path_);
  ASSERT_FALSE(second);
  EXPECT_THAT(second.error().what, HasSubstr("another process listens"));
}

TEST_F(ReversePortTest, LeavesAFileThatIsNoSocketAlone) {
  std::ofstream{path_} << "precious";
  const auto port = ReversePort::listen(path_);
  ASSERT_FALSE(port);
  EXPECT_EQ(::access(path_.c_str(), F_OK), 0);
}

TEST_F(ReversePortTest, ListensOnAPathLongerThanAnAddress) {
  const auto deep = folder_ + "/" + std::string(120, 'd');
  ASSERT_EQ(::mkdir(deep.c_str(), 0700), 0);
  {
    const auto port = ReversePort::listen(deep + "/port");
    ASSERT_TRUE(port) << port.error().what;
    EXPECT_TRUE(connect_endpoint(deep + "/port")->connect(Deadline{5s}));
  }
  EXPECT_EQ(::rmdir(deep.c_str()), 0) << "the socket file is gone";
}

}  // namespace
}  // namespace clrscope::ipc
