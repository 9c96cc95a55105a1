#include "inspect/wait_graph.h"

#include <gmock/gmock.h>

namespace clrscope::inspect {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

ThreadView thread(pid_t id, std::optional<Wait> wait = {}) {
  ThreadView view;
  view.os.tid = view.os.namespace_tid = id;
  view.waiting_for = std::move(wait);
  return view;
}

Wait wait_for(std::uint32_t owner, WaitKind kind = WaitKind::kMonitor, std::uint64_t object = 8) {
  return {.kind = kind, .object = object, .owner_os_id = owner};
}

TEST(WaitGraph, FindsACycleOfMixedKinds) {
  const Snapshot seen{.threads = {thread(10, wait_for(20, WaitKind::kMonitor)),
                                  thread(20, wait_for(30, WaitKind::kLock)),
                                  thread(30, wait_for(10, WaitKind::kTask))}};
  EXPECT_THAT(find_cycles(seen), ElementsAre(ElementsAre(10, 20, 30)));
}

TEST(WaitGraph, LeavesOutThoseThatQueueBehindACycle) {
  const Snapshot seen{.threads = {thread(5, wait_for(20)), thread(10, wait_for(20)),
                                  thread(20, wait_for(10)), thread(30, wait_for(5))}};
  EXPECT_THAT(find_cycles(seen), ElementsAre(ElementsAre(10, 20)));
}

TEST(WaitGraph, FindsEveryCycle) {
  const Snapshot seen{.threads = {thread(1, wait_for(2)), thread(2, wait_for(1)),
                                  thread(3, wait_for(4)), thread(4, wait_for(3)),
                                  thread(5, wait_for(5))}};
  EXPECT_THAT(find_cycles(seen), ElementsAre(ElementsAre(1, 2), ElementsAre(3, 4), ElementsAre(5)));
}

TEST(WaitGraph, SeesNoneInAQueueThatMoves) {
  const Snapshot seen{.threads = {thread(1, wait_for(2)), thread(2, wait_for(3)), thread(3)}};
  EXPECT_THAT(find_cycles(seen), IsEmpty());
}

TEST(WaitGraph, SeesNoneWhereOneWaitEndsByItself) {
  auto timed = wait_for(1);
  timed.timed = true;
  const Snapshot seen{.threads = {thread(1, wait_for(2)), thread(2, timed)}};
  EXPECT_THAT(find_cycles(seen), IsEmpty());
}

TEST(WaitGraph, ListsALockWithItsOwnerAndWaiters) {
  Snapshot seen{.threads = {thread(1, wait_for(3, WaitKind::kMonitor, 0x100)),
                            thread(2, wait_for(3, WaitKind::kMonitor, 0x100)), thread(3)}};
  add_locks(seen, {{.object = 0x100, .held = true, .owner_os_id = 3, .waiters = 2},
                   {.object = 0x200, .held = false}});
  ASSERT_EQ(seen.locks.size(), 1u);
  EXPECT_EQ(seen.locks[0].owner_os_id, 3u);
  EXPECT_THAT(seen.locks[0].waiters, ElementsAre(1, 2));
  EXPECT_THAT(seen.threads[2].holds, ElementsAre(0x100));
}

}  // namespace
}  // namespace clrscope::inspect
