#include "sinks/outbox.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "base/guarded.h"
#include "sinks/test_wait.h"

namespace clrscope::sinks {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using Texts = std::vector<std::string>;

// A peer whose mood the test sets.
struct Peer {
  Texts got{};
  bool refuses = false;
  std::size_t unacknowledged = 0;  // the last ones, when it is asked
  bool breaks = false;             // the next time it is looked at
};

class PeerCarrier final : public Carrier {
 public:
  explicit PeerCarrier(Guarded<Peer>& peer) : peer_(peer) {}

  Result<> carry(std::string_view message, std::uint32_t /*items*/) override {
    return peer_.with([&](auto& peer) -> Result<> {
      if (peer.refuses) return fail(Errc::kSystem, "refused");
      peer.got.emplace_back(message);
      return {};
    });
  }
  Result<Underway> underway() override {
    return peer_.with([&](auto& peer) -> Result<Underway> {
      if (std::exchange(peer.breaks, false)) return fail(Errc::kSystem, "broke");
      return Underway{peer.unacknowledged, peer.unacknowledged};
    });
  }

 private:
  Guarded<Peer>& peer_;
};

class OutboxTest : public testing::Test {
 protected:
  OutboxTest() {
    std::string name = testing::TempDir() + "outbox.XXXXXX";
    folder_ = ::mkdtemp(name.data());
  }
  ~OutboxTest() override { std::filesystem::remove_all(folder_); }

  std::unique_ptr<Outbox> open(OutboxSetting setting = {}) {
    setting.name = "test:peer";
    auto outbox = Outbox::open(setting, std::make_unique<PeerCarrier>(peer_));
    EXPECT_TRUE(outbox) << outbox.error().what;
    return std::move(*outbox);
  }
  Texts got() {
    return peer_.with([](auto& peer) { return peer.got; });
  }
  template <class F>
  void change(F&& how) {
    peer_.with(how);
  }

  std::string folder_;
  Guarded<Peer> peer_;
};

TEST_F(OutboxTest, DeliversInOrderAndCountsItems) {
  const auto outbox = open();
  outbox->put("a", 3);
  outbox->put("b", 4);
  outbox->finish(kPatience);
  EXPECT_THAT(got(), ElementsAre("a", "b"));
  EXPECT_EQ(outbox->state().delivered, 7U);
  EXPECT_EQ(outbox->state().dropped, 0U);
  EXPECT_EQ(outbox->state().waiting_bytes, 0U);
}

TEST_F(OutboxTest, OffersAgainWhatWasRefusedAndSaysWhy) {
  change([](auto& peer) { peer.refuses = true; });
  const auto outbox = open();
  EXPECT_TRUE(outbox->trouble());
  outbox->put("a", 1);
  outbox->put("b", 1);
  ASSERT_TRUE(until([&] { return outbox->state().failures > 1; }));
  EXPECT_EQ(outbox->state().last_failure, "refused");
  const auto trouble = outbox->trouble();
  ASSERT_FALSE(trouble);
  EXPECT_EQ(trouble.error().what, "refused");
  change([](auto& peer) { peer.refuses = false; });
  outbox->finish(kPatience);
  EXPECT_THAT(got(), ElementsAre("a", "b"));
}

TEST_F(OutboxTest, CarriesAgainWhatWasNotAcknowledgedWhenTheConnectionBroke) {
  change([](auto& peer) { peer.unacknowledged = 2; });
  const auto outbox = open();
  for (const auto* text : {"a", "b", "c"}) outbox->put(text, 1);
  ASSERT_TRUE(until([&] { return outbox->state().delivered == 1; }));
  EXPECT_THAT(got(), ElementsAre("a", "b", "c"));
  change([](auto& peer) { peer.breaks = true; });
  ASSERT_TRUE(until([&] { return got().size() == 5; }));
  change([](auto& peer) { peer.unacknowledged = 0; });
  outbox->finish(kPatience);
  EXPECT_THAT(got(), ElementsAre("a", "b", "c", "b", "c"));
  EXPECT_EQ(outbox->state().delivered, 3U);
  EXPECT_EQ(outbox->state().reached, 3U);
}

TEST_F(OutboxTest, DropsTheNewestAboveItsLimitAndCountsIt) {
  change([](auto& peer) { peer.refuses = true; });
  const auto outbox = open({.limit = 10});
  outbox->put("12345678", 1);
  outbox->put("abc", 5);
  EXPECT_EQ(outbox->state().dropped, 5U);
  EXPECT_EQ(outbox->state().waiting_bytes, 8U);
  outbox->finish(std::chrono::milliseconds{1});
  EXPECT_EQ(outbox->state().dropped, 6U) << "what memory held when it ended";
  EXPECT_EQ(outbox->state().reached, 0U);
  EXPECT_THAT(got(), ElementsAre());
}

TEST_F(OutboxTest, KeepsInItsSpoolWhatItCouldNotDeliver) {
  change([](auto& peer) { peer.refuses = true; });
  const OutboxSetting setting{.spool = folder_, .limit = 1 << 20};
  {
    const auto outbox = open(setting);
    outbox->put("a", 1);
    outbox->put("b", 1);
    outbox->finish(std::chrono::milliseconds{1});
    EXPECT_EQ(outbox->state().dropped, 0U);
    EXPECT_GT(outbox->state().waiting_bytes, 0U);
    EXPECT_THAT(outbox->state().text(), HasSubstr("in the spool"));
  }
  change([](auto& peer) { peer.refuses = false; });
  const auto outbox = open(setting);
  outbox->put("c", 1);
  outbox->finish(kPatience);
  EXPECT_THAT(got(), ElementsAre("a", "b", "c"));
  EXPECT_EQ(outbox->state().waiting_bytes, 0U);
}

TEST_F(OutboxTest, TakesOverTheSpoolOfOneThatEnds) {
  change([](auto& peer) { peer.refuses = true; });
  const OutboxSetting setting{.spool = folder_, .limit = 1 << 20};
  const auto first = open(setting);
  const auto second = open(setting);
  first->put("a", 1);
  second->put("early", 1);
  EXPECT_EQ(second->state().dropped, 1U) << "while the first has it";
  EXPECT_THAT(second->state().last_failure, HasSubstr("in use"));
  first->finish(std::chrono::milliseconds{1});
  change([](auto& peer) { peer.refuses = false; });
  ASSERT_TRUE(until([&] { return second->state().delivered == 1; })) << "without a put of its own";
  second->put("b", 1);
  second->finish(kPatience);
  EXPECT_THAT(got(), ElementsAre("a", "b"));
}

TEST_F(OutboxTest, CountsWhatADiskThatRefusesDrops) {
  // The folder of its spool goes: no segment can be made there.
  const auto outbox = open({.spool = folder_, .limit = 1 << 20});
  std::filesystem::remove_all(folder_);
  outbox->put("a", 3);
  EXPECT_EQ(outbox->state().dropped, 3U);
  EXPECT_THAT(outbox->state().last_failure, HasSubstr("cannot create"));
}

}  // namespace
}  // namespace clrscope::sinks
