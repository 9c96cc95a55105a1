#include "live/watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <future>
#include <thread>

namespace clrscope::live {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// Sleeps until it is killed.
class Child {
 public:
  Child() : pid_(::fork()) {
    while (pid_ == 0) ::pause();
  }
  ~Child() { end(); }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  pid_t pid() const { return pid_; }
  void end() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
    pid_ = 0;
  }

 private:
  pid_t pid_;
};

Process process_of(pid_t pid) { return {.pid = pid, .name = "shop", .user = "app"}; }

ops::ExaminationAnswer deadlock() {
  ops::ExaminationAnswer answer{.time = wall_now()};
  answer.findings.push_back(
      {.id = "CS1001", .title = "Deadlock", .severity = ops::Severity::kError});
  answer.examined.push_back(
      {.id = "CS1001", .name = "lock cycle", .outcome = ops::Outcome::kFound});
  return answer;
}

class WatchTest : public testing::Test {
 protected:
  // Looks are waited for as long as it takes.
  WatchSetting setting(std::vector<pid_t> pids) {
    WatchSetting setting;
    setting.list = [pids] {
      std::vector<Process> all;
      for (const auto pid : pids) all.push_back(process_of(pid));
      return Result<std::vector<Process>>{all};
    };
    setting.reach = [](const Process& one) { return ops::TargetRequest{.pid = one.pid}; };
    setting.first_look = std::chrono::minutes{5};
    setting.look = [this](const ops::TargetRequest&, ops::Bedside&) {
      ++looks_;
      return Result<ops::ExaminationAnswer>{deadlock()};
    };
    return setting;
  }

  std::atomic<int> looks_ = 0;
  Child child_;
};

TEST_F(WatchTest, TheFirstAskWaitsForTheFirstLook) {
  Watch watch{setting({child_.pid()})};
  EXPECT_EQ(looks_, 0) << "nobody asked";
  const auto answer = watch.one(child_.pid());
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->process.severity, WatchSeverity::kError);
  EXPECT_EQ(answer->process.verdict, "Deadlock");
  EXPECT_EQ(answer->process.findings, 1U);
  EXPECT_EQ(answer->looks, 1U);
  EXPECT_EQ(answer->every, seconds{5});
  ASSERT_EQ(answer->findings.size(), 1U);
  EXPECT_EQ(answer->findings[0].id, "CS1001");
  EXPECT_TRUE(answer->checked_at);
  EXPECT_EQ(answer->process.threads, 1U);
  EXPECT_TRUE(answer->ended.empty());
  const auto list = watch.list();
  ASSERT_TRUE(list);
  ASSERT_EQ(list->size(), 1U);
  EXPECT_EQ(list->front().verdict, "Deadlock");
  EXPECT_EQ(list->front().is_default, true);
}

TEST_F(WatchTest, WhatIsNotListedIsNotFound) {
  Watch watch{setting({child_.pid()})};
  const auto answer = watch.one(::getpid());  // it lives, and may not be seen
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, Errc::kNotFound);
}

TEST_F(WatchTest, WhatEndedIsKeptWithItsFindings) {
  Watch watch{setting({child_.pid()})};
  const auto pid = child_.pid();
  ASSERT_TRUE(watch.one(pid));
  child_.end();
  const auto answer = watch.one(pid);
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->ended, "the process has ended");
  EXPECT_TRUE(answer->ended_at);
  EXPECT_EQ(answer->findings.size(), 1U);
  const auto list = watch.list();
  ASSERT_TRUE(list);
  EXPECT_TRUE(list->empty());
}

TEST_F(WatchTest, FollowersAreToldWhatBeginsAndEndsAndKeepTheChecksGoing) {
  std::promise<FindingChange> began, ended;
  Watch watch{setting({child_.pid()})};
  watch.follow([&](const FindingChange* change) {
    if (change) (change->change == FindingChangeKind::kBegan ? began : ended).set_value(*change);
    return true;
  });
  const auto first = began.get_future().get();
  EXPECT_EQ(first.pid, child_.pid());
  EXPECT_EQ(first.process, "shop");
  EXPECT_EQ(first.finding.id, "CS1001");
  const auto now = watch.findings();
  ASSERT_TRUE(now);
  ASSERT_EQ(now->size(), 1U);
  EXPECT_EQ(now->front().finding.severity, ops::Severity::kError);
  child_.end();
  EXPECT_TRUE(ended.get_future().get().finding.ended);
  EXPECT_TRUE(watch.findings()->empty());
}

TEST_F(WatchTest, WhatCannotBeExaminedIsUnknownWithTheReason) {
  auto refused = setting({child_.pid()});
  refused.look = [](const ops::TargetRequest&, ops::Bedside&) -> Result<ops::ExaminationAnswer> {
    return fail(Errc::kDenied, "its memory may not be read").hint("run as its user");
  };
  Watch watch{std::move(refused)};
  const auto answer = watch.one(child_.pid());
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->process.severity, WatchSeverity::kUnknown);
  EXPECT_EQ(answer->process.note, "its memory may not be read; run as its user");
  EXPECT_EQ(answer->examined.size(), ops::quick_findings().size());
  for (const auto& one : answer->examined) {
    EXPECT_EQ(one.outcome, ops::Outcome::kNotRun);
    EXPECT_EQ(one.reason, "its memory may not be read; run as its user");
  }
}

TEST_F(WatchTest, ALookThatHangsDoesNotHoldUpTheOthers) {
  const Child other;
  auto slow = setting({child_.pid(), other.pid()});
  std::promise<void> begun, go_on;
  slow.look = [&, hung = child_.pid(), goes_on = go_on.get_future().share()](
                  const ops::TargetRequest& target, ops::Bedside&) {
    if (target.pid == hung) {
      if (++looks_ == 1) begun.set_value();
      goes_on.wait();
    }
    return Result<ops::ExaminationAnswer>{deadlock()};
  };
  slow.rhythm.late = milliseconds{1};
  Watch watch{std::move(slow)};
  std::promise<Result<WatchAnswer>> first;
  std::jthread asker{[&] { first.set_value(watch.one(child_.pid())); }};
  begun.get_future().wait();
  const auto answer = watch.one(other.pid());
  go_on.set_value();  // before what may fail
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->findings.size(), 1U);
  EXPECT_TRUE(first.get_future().get());
}

// One more than there were threads at first.
TEST_F(WatchTest, ManyLooksThatHangDoNotHoldUpTheOthers) {
  std::vector<std::unique_ptr<Child>> hung;
  std::vector<pid_t> pids{child_.pid()};
  for (int i = 0; i < 9; ++i) pids.push_back(hung.emplace_back(std::make_unique<Child>())->pid());
  auto slow = setting(pids);
  std::promise<void> go_on;
  slow.look = [&, well = child_.pid(), goes_on = go_on.get_future().share()](
                  const ops::TargetRequest& target, ops::Bedside&) {
    if (target.pid != well) {
      ++looks_;
      goes_on.wait();
    }
    return Result<ops::ExaminationAnswer>{deadlock()};
  };
  slow.rhythm.late = milliseconds{1};
  Watch watch{std::move(slow)};
  std::vector<std::jthread> askers;
  for (const auto& one : hung)
    askers.emplace_back([&watch, pid = one->pid()] { (void)watch.one(pid); });
  while (looks_ < 9) std::this_thread::yield();
  const auto answer = watch.one(child_.pid());
  go_on.set_value();  // before what may fail
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->findings.size(), 1U);
}

TEST_F(WatchTest, WhatTheFirstLookMissesIsLookedForOnceMore) {
  auto moving = setting({child_.pid()});
  moving.look = [this](const ops::TargetRequest&, ops::Bedside&) {
    return Result<ops::ExaminationAnswer>{++looks_ == 1 ? ops::ExaminationAnswer{} : deadlock()};
  };
  Watch watch{std::move(moving)};
  const auto answer = watch.one(child_.pid());
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->findings.size(), 1U);
  EXPECT_EQ(answer->looks, 1U);
  ASSERT_EQ(answer->history.size(), 1U);
  EXPECT_EQ(answer->history[0].id, "CS1001");
  EXPECT_FALSE(answer->history[0].ended);
}

TEST_F(WatchTest, TheFirstAskDoesNotWaitForEver) {
  auto slow = setting({child_.pid()});
  std::promise<void> go_on;
  slow.look = [goes_on = go_on.get_future().share()](const ops::TargetRequest&, ops::Bedside&) {
    goes_on.wait();
    return Result<ops::ExaminationAnswer>{deadlock()};
  };
  slow.first_look = milliseconds{1};
  Watch watch{std::move(slow)};
  const auto answer = watch.one(child_.pid());
  go_on.set_value();
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->process.severity, WatchSeverity::kUnknown);
  EXPECT_TRUE(answer->findings.empty());
  EXPECT_THAT(answer->notes, testing::ElementsAre("the first check has not ended yet"));
}

TEST_F(WatchTest, TheWorstComesFirst) {
  const Child well, unread;
  auto mixed = setting({well.pid(), unread.pid(), child_.pid()});
  mixed.look = [&](const ops::TargetRequest& target,
                   ops::Bedside&) -> Result<ops::ExaminationAnswer> {
    if (target.pid == well.pid()) return ops::ExaminationAnswer{};
    if (target.pid == unread.pid()) return fail(Errc::kDenied, "its memory may not be read");
    return deadlock();
  };
  Watch watch{std::move(mixed)};
  for (const auto pid : {well.pid(), unread.pid(), child_.pid()}) ASSERT_TRUE(watch.one(pid));
  const auto list = watch.list();
  ASSERT_TRUE(list);
  std::vector<WatchSeverity> order;
  for (const auto& one : *list) order.push_back(one.severity);
  EXPECT_THAT(order, testing::ElementsAre(WatchSeverity::kError, WatchSeverity::kUnknown,
                                          WatchSeverity::kNone));
}

TEST_F(WatchTest, OfThoseInTroubleTheNewestComesFirst) {
  const Child later;
  std::atomic<bool> is_sick = false;
  auto both = setting({child_.pid(), later.pid()});
  both.rhythm.asked = both.rhythm.listed = milliseconds{1};
  both.look = [&](const ops::TargetRequest& target, ops::Bedside&) {
    const bool well = target.pid == later.pid() && !is_sick;
    auto answer = well ? ops::ExaminationAnswer{.time = wall_now()} : deadlock();
    if (well) answer.examined = {{.id = "CS1001", .outcome = ops::Outcome::kNothing}};
    return Result<ops::ExaminationAnswer>{std::move(answer)};
  };
  Watch watch{std::move(both)};
  for (const auto pid : {later.pid(), child_.pid()}) ASSERT_TRUE(watch.one(pid));
  is_sick = true;
  const auto later_is_found = [&] {
    const auto one = watch.one(later.pid());
    return one && one->process.severity == WatchSeverity::kError;
  };
  while (!later_is_found()) std::this_thread::yield();
  const auto list = watch.list();
  ASSERT_TRUE(list);
  ASSERT_EQ(list->size(), 2U);
  EXPECT_EQ(list->front().pid, later.pid());
}

TEST_F(WatchTest, MoreThanThereIsRoomForAreUnknown) {
  const Child other;
  auto small = setting({child_.pid(), other.pid()});
  small.rhythm.processes = 1;
  Watch watch{std::move(small)};
  ASSERT_TRUE(watch.one(child_.pid()));
  const auto answer = watch.one(other.pid());
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->process.severity, WatchSeverity::kUnknown);
  EXPECT_EQ(answer->process.note, "not checked: 1 other processes are");
  EXPECT_EQ(answer->notes.size(), 1U);
}

TEST_F(WatchTest, OnlyTheFirstOfManyAsksIsNew) {
  Watch watch{setting({child_.pid()})};
  EXPECT_TRUE(watch.is_new_ask("ann", "7"));
  EXPECT_FALSE(watch.is_new_ask("ann", "7"));
  EXPECT_TRUE(watch.is_new_ask("bob", "7"));
  EXPECT_TRUE(watch.is_new_ask("ann", "8"));
}

}  // namespace
}  // namespace clrscope::live
