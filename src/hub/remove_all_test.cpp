#include "hub/remove_all.h"

#include <gtest/gtest.h>

#include <condition_variable>
#include <mutex>

namespace clrscope::hub {
namespace {

// Sinks that close only when all of them are closing.
class Meeting {
 public:
  explicit Meeting(std::size_t expected) : expected_(expected) {}

  bool wait_for_all() {
    std::unique_lock lock{mutex_};
    ++present_;
    come_.notify_all();
    return come_.wait_for(lock, std::chrono::seconds{60}, [&] { return present_ >= expected_; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable come_;
  std::size_t expected_;
  std::size_t present_ = 0;
};

class SlowSink final : public Sink {
 public:
  explicit SlowSink(Meeting& meeting) : meeting_(meeting) {}
  Result<> close(const SessionSummary&) override {
    if (!meeting_.wait_for_all()) return fail(Errc::kTimeout, "alone");
    return {};
  }

 private:
  Meeting& meeting_;
};

TEST(RemoveAll, ClosesAllSinksAtOnce) {
  constexpr std::size_t kSinks = 8;
  Meeting meeting{kSinks};
  Hub hub;
  std::vector<ListenerId> listeners;
  for (std::size_t i = 0; i < kSinks; ++i) {
    auto id = hub.add({.providers = {{.name = "Shop"}}}, std::make_unique<SlowSink>(meeting));
    ASSERT_TRUE(id);
    listeners.push_back(*id);
  }
  const auto summaries = remove_all(hub, listeners);
  ASSERT_EQ(summaries.size(), kSinks);
  for (const auto& summary : summaries) EXPECT_EQ(summary.failures, 0U) << summary.last_failure;
  EXPECT_TRUE(hub.summaries().empty());
}

TEST(RemoveAll, OfNobodyIsNothing) {
  Hub hub;
  EXPECT_TRUE(remove_all(hub, {}).empty());
}

}  // namespace
}  // namespace clrscope::hub
