#include "export/timeline.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "export/test_profile.h"

namespace clrscope::exports {
namespace {

using analyze::ThreadState;

// "+Main@1000" opens at a microsecond, "-Main@2000" closes.
std::string timeline_of(const TestProfile& made, std::size_t thread = 0) {
  const auto name = [&](std::uint32_t frame) {
    if (frame == running_frame(made.profile)) return std::string{"RUN"};
    if (frame == waiting_frame(made.profile)) return std::string{"WAIT"};
    return made.profile.frames[frame].method;
  };
  std::string text;
  Timeline timeline{made.profile};
  timeline.walk(
      made.profile.threads[thread],
      [&](std::uint32_t frame, std::uint64_t at) {
        text += fmt::format("+{}@{} ", name(frame), at);
      },
      [&](std::uint32_t frame, std::uint64_t at) {
        text += fmt::format("-{}@{} ", name(frame), at);
      });
  return text;
}

TEST(Timeline, KeepsAFrameOpenWhileTheNextSampleHasIt) {
  TestProfile made;
  const auto thread = made.thread(1);
  made.sample(thread, 1, 1, made.stack({"Main", "Work", "A"}));
  made.sample(thread, 2, 1, made.stack({"Main", "Work", "A"}));
  made.sample(thread, 3, 1, made.stack({"Main", "Work", "B", "C"}));
  made.sample(thread, 4, 1, made.stack({"Main"}));
  EXPECT_EQ(timeline_of(made),
            "+Main@1000 +Work@1000 +A@1000 -A@3000 +B@3000 +C@3000 -C@4000 -B@4000 -Work@4000 "
            "-Main@5000 ");
}

TEST(Timeline, ReplacesAWholeStackOfAnotherRoot) {
  TestProfile made;
  const auto thread = made.thread(1);
  made.sample(thread, 1, 1, made.stack({"A", "B"}));
  made.sample(thread, 2, 1, made.stack({"C", "B"}));
  EXPECT_EQ(timeline_of(made), "+A@1000 +B@1000 -B@2000 -A@2000 +C@2000 +B@2000 -B@3000 -C@3000 ");
}

TEST(Timeline, ClosesEverythingInAPause) {
  TestProfile made;
  const auto thread = made.thread(1);
  const auto stack = made.stack({"Main"});
  made.sample(thread, 1, 1, stack);
  made.sample(thread, 2.2, 1, stack);  // the timer was late
  made.sample(thread, 9, 1, stack);    // the thread was away
  EXPECT_EQ(timeline_of(made), "+Main@1000 -Main@3200 +Main@9000 -Main@10000 ");
}

TEST(Timeline, CutsASampleAtTheNextOne) {
  TestProfile made;
  const auto thread = made.thread(1);
  made.sample(thread, 1, 5, made.stack({"A"}));
  made.sample(thread, 2, 1, made.stack({"B"}));
  EXPECT_EQ(timeline_of(made), "+A@1000 -A@2000 +B@2000 -B@3000 ");
}

TEST(Timeline, ShowsWhatTheThreadDidBelowTheLeaf) {
  TestProfile made;
  const auto thread = made.thread(1);
  const auto stack = made.stack({"Main"});
  made.sample(thread, 1, 1, stack, ThreadState::kRunning);
  made.sample(thread, 2, 1, stack, ThreadState::kRunning);
  made.sample(thread, 3, 1, stack, ThreadState::kWaiting);
  made.sample(thread, 4, 1, analyze::kNoStack, ThreadState::kWaiting);
  made.sample(thread, 5, 1, analyze::kNoStack, ThreadState::kWaiting);
  EXPECT_EQ(timeline_of(made),
            "+Main@1000 +RUN@1000 -RUN@3000 +WAIT@3000 -WAIT@4000 -Main@4000 +WAIT@4000 "
            "-WAIT@6000 ");
}

TEST(Timeline, NeverGoesBackWhateverTheTimes) {
  TestProfile made;
  const auto thread = made.thread(1);
  made.sample(thread, 5, 1e12, made.stack({"A"}));
  made.sample(thread, -3, -4, made.stack({"B"}));
  made.sample(thread, 2, 0, made.stack({"A", "B"}));
  EXPECT_EQ(timeline_of(made), "+A@5000 -A@5000 +B@5000 -B@5000 +A@5000 +B@5000 -B@5000 -A@5000 ");
}

TEST(Timeline, OpensAndClosesAVeryDeepStack) {
  TestProfile made;
  const auto thread = made.thread(1);
  constexpr std::size_t kDepth = 20'000;
  made.profile.frames.push_back({.method = "R"});
  for (std::size_t i = 0; i < kDepth; ++i)
    made.profile.stacks.push_back(
        {.parent = static_cast<analyze::StackNodeId>(i), .frame = analyze::FrameId{0}});
  made.sample(thread, 1, 1, static_cast<analyze::StackNodeId>(kDepth));
  made.sample(thread, 2, 1, analyze::StackNodeId{1});
  std::size_t opened = 0, closed = 0;
  Timeline timeline{made.profile};
  timeline.walk(
      made.profile.threads[0], [&](std::uint32_t, std::uint64_t) { ++opened; },
      [&](std::uint32_t, std::uint64_t at) { closed += at == 2000; });
  EXPECT_EQ(opened, kDepth);
  EXPECT_EQ(closed, kDepth - 1);
}

TEST(Timeline, NamesAThreadWithItsProcessWhereThereAreSeveral) {
  TestProfile made;
  made.thread(12, "Worker");
  EXPECT_EQ(thread_title(made.profile, made.profile.threads[0]), "Thread (12) Worker");
  made.profile.processes.push_back({.process = ProcessId{8}});
  EXPECT_EQ(thread_title(made.profile, made.profile.threads[0]), "Shop (7) Thread (12) Worker");
}

}  // namespace
}  // namespace clrscope::exports
