#include "ops/stacks.h"

#include <gmock/gmock.h>

namespace clrscope::ops {
namespace {

using namespace inspect;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

ThreadView thread(pid_t id, std::string name, std::vector<Frame> frames) {
  ThreadView view;
  view.os.tid = view.os.namespace_tid = id;
  view.os.state = 'S';
  view.runtime = RuntimeThread{.os_id = static_cast<std::uint32_t>(id),
                               .managed_id = static_cast<std::uint32_t>(id) - 10,
                               .name = std::move(name)};
  view.frames = std::move(frames);
  view.whole = true;
  return view;
}

Frame managed(std::string method) {
  return {.method = std::move(method), .module = "Shop", .kind = FrameKind::kManaged};
}
Frame native() { return {.module = "libc.so.6", .kind = FrameKind::kNative}; }

// Threads 11 and 12 wait for each other, 13 sleeps.
Snapshot deadlock() {
  Snapshot seen{.pid = 7, .name = "Shop.Api", .runtime = "10.0.12"};
  seen.threads = {thread(11, "orders", {native(), native(), managed("Shop.Orders.Place()")}),
                  thread(12, "refunds", {native(), managed("Shop.Refunds.Run()")}),
                  thread(13, "timer", {native(), managed("Shop.Timer.Tick()")})};
  seen.threads[0].waiting_for = Wait{.object = 0x10, .type = "Shop.Stock", .owner_os_id = 12};
  seen.threads[1].waiting_for = Wait{.object = 0x20, .type = "Shop.Cart", .owner_os_id = 11};
  seen.threads[2].waiting_for = Wait{.kind = WaitKind::kSleep};
  seen.cycles = {{11, 12}};
  return seen;
}

TEST(StacksText, BeginsWithTheCycle) {
  EXPECT_THAT(stacks_text(deadlock(), {}),
              StartsWith("Shop.Api (7), .NET 10.0.12 · 3 threads · not paused\n\n"
                         "✖ Deadlock: 2 threads are waiting for each other\n"
                         "    thread 11 \"orders\" waiting for 0x10 (Shop.Stock) held by thread 12 "
                         "\"refunds\"\n"
                         "    thread 12 \"refunds\" waiting for 0x20 (Shop.Cart) held by thread 11 "
                         "\"orders\"\n\n"));
}

TEST(StacksText, FoldsNativeFramesUnlessTheyAreWanted) {
  EXPECT_THAT(stacks_text(deadlock(), {}),
              HasSubstr("\n  [Native Frames]\n  Shop!Shop.Orders.Place()\n\n"));
  EXPECT_THAT(stacks_text(deadlock(), {.native = true}), Not(HasSubstr("[Native Frames]")));
}

TEST(StacksText, SaysWhereAStackEndsBeforeItsRoot) {
  auto seen = deadlock();
  seen.threads[0].broken = "no unwind rule";
  EXPECT_THAT(stacks_text(seen, {}), HasSubstr("  [stack ends here: no unwind rule]\n"));
}

TEST(StacksText, PutsEqualStacksTogetherTheMostFirst) {
  auto seen = deadlock();
  seen.threads.push_back(thread(14, "timer", {native(), managed("Shop.Timer.Tick()")}));
  seen.threads[3].waiting_for = Wait{.kind = WaitKind::kSleep};
  EXPECT_THAT(stacks_text(seen, {.view = StacksView::kMerged}),
              HasSubstr("4 threads in 3 groups\n\n   2 × sleeping\n"
                        "       thread 13 \"timer\", thread 14 \"timer\"\n"));
}

TEST(StacksText, PutsWaitsForDifferentTasksTogether) {
  auto seen = deadlock();
  for (const std::uint32_t id : {14U, 15U}) {
    seen.threads.push_back(thread(id, "worker", {native(), managed("Shop.Serve()")}));
    seen.threads.back().waiting_for =
        Wait{.kind = WaitKind::kTask, .object = id * 0x100, .type = "Shop.Load"};
  }
  EXPECT_THAT(stacks_text(seen, {.view = StacksView::kMerged}),
              HasSubstr("   2 × waiting for a Task (Shop.Load)\n"));
}

TEST(StacksJson, HasTheAgreedShape) {
  auto seen = deadlock();
  seen.threads.resize(1);
  seen.cycles = {{11}};
  seen.threads[0].frames = {managed("Shop.Orders.Place")};
  const auto json = stacks_json(seen);
  EXPECT_THAT(json, HasSubstr(R"("threads":[{"osId":11,"managedId":1,"name":"orders",)"));
  EXPECT_THAT(json, HasSubstr(R"("frames":[{"method":"Shop.Orders.Place","module":"Shop",)"));
  EXPECT_THAT(json, HasSubstr(R"("waitingFor":{"kind":"Monitor","object":"0x10",)"
                              R"("type":"Shop.Stock","ownerOsId":12,)"));
  EXPECT_THAT(json, HasSubstr(R"("cycles":[[11]])"));
}

}  // namespace
}  // namespace clrscope::ops
