#include "sinks/socket_carrier.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cstring>
#include <filesystem>

#include "sinks/test_wait.h"

namespace clrscope::sinks {
namespace {

using testing::HasSubstr;

class SocketCarrierTest : public testing::Test {
 protected:
  SocketCarrierTest() {
    std::string name = testing::TempDir() + "carrier.XXXXXX";
    folder_ = ::mkdtemp(name.data());
    peer_.path = folder_ + "/s";
  }
  ~SocketCarrierTest() override { std::filesystem::remove_all(folder_); }

  UniqueFd bind_to(int type) {
    std::filesystem::remove(peer_.path);
    UniqueFd fd{::socket(AF_UNIX, type | SOCK_CLOEXEC, 0)};
    sockaddr_un at{};
    at.sun_family = AF_UNIX;
    std::memcpy(at.sun_path, peer_.path.data(), peer_.path.size());
    EXPECT_EQ(::bind(fd.get(), reinterpret_cast<const sockaddr*>(&at), sizeof at), 0);
    if (type == SOCK_STREAM) {
      EXPECT_EQ(::listen(fd.get(), 4), 0);
    }
    return fd;
  }
  static UniqueFd accept(const UniqueFd& from) {
    return UniqueFd{::accept4(from.get(), nullptr, nullptr, SOCK_CLOEXEC)};
  }
  static std::string receive(const UniqueFd& from) {
    std::string text(1000, '\0');
    const auto got = ::recv(from.get(), text.data(), text.size(), 0);
    text.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
    return text;
  }

  std::string folder_;
  net::Address peer_;
};

TEST_F(SocketCarrierTest, SaysThatNobodyListens) {
  StreamCarrier carrier{peer_};
  const auto done = carrier.carry("x", 1);
  ASSERT_FALSE(done);
  EXPECT_THAT(done.error().what, HasSubstr(peer_.path));
}

TEST_F(SocketCarrierTest, KeepsMessagesToRepeatUntilTheyAreOldAndFailsWhenThePeerCloses) {
  const auto listener = bind_to(SOCK_STREAM);
  StreamCarrier carrier{peer_, Repeat::kRecent};
  ASSERT_TRUE(carrier.carry("one", 1));
  auto peer = accept(listener);
  EXPECT_EQ(receive(peer), "one");
  const auto underway = carrier.underway();
  ASSERT_TRUE(underway);
  EXPECT_EQ(underway->unacknowledged, 0U);
  EXPECT_EQ(underway->repeatable, 1U);
  peer.reset();
  EXPECT_FALSE(carrier.underway());
  ASSERT_TRUE(carrier.carry("one", 1)) << "connects again";
  EXPECT_EQ(receive(accept(listener)), "one");
}

TEST_F(SocketCarrierTest, CountsWhatThePeerHasNotTaken) {
  const auto listener = bind_to(SOCK_STREAM);
  StreamCarrier carrier{peer_};
  ASSERT_TRUE(carrier.carry("one", 1));
  ASSERT_TRUE(carrier.carry("two", 1));
  EXPECT_EQ(carrier.underway()->unacknowledged, 2U);
  const auto peer = accept(listener);
  std::string all;
  while (all.size() < 6) all += receive(peer);
  EXPECT_TRUE(until([&] { return carrier.underway()->unacknowledged == 0; }));
  EXPECT_EQ(carrier.underway()->repeatable, 0U);
}

TEST_F(SocketCarrierTest, ThrowsAwayWhatAPeerSends) {
  const auto listener = bind_to(SOCK_STREAM);
  StreamCarrier carrier{peer_};
  ASSERT_TRUE(carrier.carry("one", 1));
  const auto peer = accept(listener);
  const std::string garbage(30'000, '\xff');
  ASSERT_EQ(::send(peer.get(), garbage.data(), garbage.size(), 0),
            static_cast<ssize_t>(garbage.size()));
  EXPECT_TRUE(carrier.underway());
  ASSERT_TRUE(carrier.carry("two", 1));
  std::string all;
  while (all.size() < 6) all += receive(peer);
  EXPECT_EQ(all, "onetwo");
}

TEST_F(SocketCarrierTest, GivesUpOnAPeerThatTakesNothing) {
  const auto listener = bind_to(SOCK_STREAM);
  StreamCarrier carrier{peer_, Repeat::kRecent, {.send = std::chrono::milliseconds{50}}};
  const std::string much(100'000, 'x');
  Result<> done;
  for (int i = 0; i < 100 && done; ++i) done = carrier.carry(much, 1);
  ASSERT_FALSE(done);
  EXPECT_THAT(done.error().what, HasSubstr("accepted no data"));
}

TEST_F(SocketCarrierTest, IsInterruptedWhileItWaits) {
  const auto listener = bind_to(SOCK_STREAM);
  StreamCarrier carrier{peer_, Repeat::kRecent, {.send = std::chrono::hours{1}}};
  std::jthread other{[&] { carrier.interrupt(); }};
  const std::string much(100'000, 'x');
  Result<> done;
  for (int i = 0; i < 100 && done; ++i) done = carrier.carry(much, 1);
  EXPECT_FALSE(done);
}

TEST_F(SocketCarrierTest, SendsDatagramsAndTellsThatNobodyTookOne) {
  DatagramCarrier carrier{peer_};
  EXPECT_FALSE(carrier.carry("a", 1));
  auto receiver = bind_to(SOCK_DGRAM);
  ASSERT_TRUE(carrier.carry("b", 1));
  ASSERT_TRUE(carrier.carry("c", 1));
  EXPECT_EQ(receive(receiver), "b");
  EXPECT_EQ(receive(receiver), "c");
  receiver.reset();
  EXPECT_FALSE(carrier.carry("d", 1));
  receiver = bind_to(SOCK_DGRAM);
  EXPECT_TRUE(carrier.carry("d", 1));
}

}  // namespace
}  // namespace clrscope::sinks
