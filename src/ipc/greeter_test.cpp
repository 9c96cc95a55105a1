#include "ipc/greeter.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>
#include <thread>

#include "fakes/fake_runtime.h"
#include "ipc/frame.h"

namespace clrscope::ipc {
namespace {

using fakes::FakeRuntime;
using namespace std::chrono_literals;
using Cookie = std::array<std::uint8_t, 16>;

class GreeterTest : public testing::Test {
 protected:
  GreeterTest() {
    std::string folder = "/tmp/clrscope-port-XXXXXX";
    folder_ = ::mkdtemp(folder.data());
    port_ = *ReversePort::listen(folder_ + "/port", 0600, {.runtimes_per_process = 100});
  }
  ~GreeterTest() override {
    port_.reset();
    ::rmdir(folder_.c_str());
  }

  UniqueFd advertise(std::uint8_t number) const {
    auto connection = FakeRuntime::connect_to(port_->path());
    const auto bytes = FakeRuntime::advertisement(Cookie{number}, number);
    EXPECT_EQ(::send(connection.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL),
              std::ssize(bytes));
    return connection;
  }

  static std::vector<std::uint8_t> info() {
    ByteWriter out;
    out.write(std::uint64_t{7});
    for (int i = 0; i < 16; ++i) out.write(std::uint8_t{0});
    for (const char* text : {"dotnet app.dll", "linux", "x64"}) write_string(out, text);
    const auto bytes = out.bytes();
    return {bytes.begin(), bytes.end()};
  }

  std::string folder_;
  std::unique_ptr<ReversePort> port_;
};

TEST_F(GreeterTest, LetsNobodyWaitForThoseWhoAreSilent) {
  std::vector<UniqueFd> silent;
  for (std::uint8_t i = 1; i <= 40; ++i) silent.push_back(advertise(i));
  FakeRuntime fake;
  fake.answer({kResumeRuntime.set, kResumeRuntime.id}, {0, 0, 0, 0});
  fake.answer({kProcessInfo.set, kProcessInfo.id}, info());
  // Resume, two questions that it does not know, and the one that it does.
  std::jthread runtime{[&] {
    for (int command = 0; command < 4; ++command) EXPECT_TRUE(fake.serve(advertise(100)));
  }};
  // So patient that it would not come back for those who are silent.
  Greeter greeter{*port_, Greeter::Words::kResumeAndAsk, 1h};
  const auto greeted = greeter.wait(Deadline{30s});
  ASSERT_EQ(greeted.size(), 1U);
  EXPECT_EQ(greeted[0].runtime.pid, 100U);
  ASSERT_TRUE(greeted[0].info) << greeted[0].info.error().what;
  EXPECT_EQ(greeted[0].info->command_line, "dotnet app.dll");
}

TEST_F(GreeterTest, GivesUpOnOneThatIsSilent) {
  const auto silent = advertise(1);
  Greeter greeter{*port_, Greeter::Words::kAsk, 10ms};
  const auto greeted = greeter.wait(Deadline{30s});
  ASSERT_EQ(greeted.size(), 1U);
  ASSERT_FALSE(greeted[0].info);
  EXPECT_EQ(greeted[0].info.error().code, Errc::kTimeout);
}

TEST_F(GreeterTest, TakesNoNonsenseForAnAnswer) {
  FakeRuntime fake;
  fake.be(fakes::Manners::kWrongMagic);
  std::jthread runtime{[&] { (void)fake.serve(advertise(1)); }};
  Greeter greeter{*port_, Greeter::Words::kAsk, 30s};
  const auto greeted = greeter.wait(Deadline{30s});
  ASSERT_EQ(greeted.size(), 1U);
  EXPECT_FALSE(greeted[0].info);
}

TEST_F(GreeterTest, OnlyResumesWhenTold) {
  FakeRuntime fake;
  fake.answer({kResumeRuntime.set, kResumeRuntime.id}, {0, 0, 0, 0});
  std::jthread runtime{[&] { EXPECT_TRUE(fake.serve(advertise(1))); }};
  Greeter greeter{*port_, Greeter::Words::kResume, 30s};
  const auto greeted = greeter.wait(Deadline{30s});
  ASSERT_EQ(greeted.size(), 1U);
  EXPECT_TRUE(greeted[0].info);
}

}  // namespace
}  // namespace clrscope::ipc
