#include "inspect/async/async.h"

#include <gmock/gmock.h>

#include "inspect/async/made_up_heap.h"

namespace clrscope::inspect {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

class AsyncTest : public testing::Test, protected MadeUpHeap {};

TEST_F(AsyncTest, LeadFromWhatIsAwaitedToTheOutermostMethod) {
  const auto load = method("Shop.Cart+<Load>d__3");
  const auto place = method("Shop.Orders+<Place>d__1");
  const auto reply = task(task_, number(1));
  const auto inner = box(load, 2, reply, number(2));
  const auto outer = box(place, 0, inner);
  point(add(source_), 8, reply);
  const auto seen = read();
  ASSERT_THAT(seen.stacks, SizeIs(1));
  EXPECT_THAT(methods(seen, seen.stacks[0]), ElementsAre("Shop.Cart.Load", "Shop.Orders.Place"));
  EXPECT_EQ(seen.stacks[0].steps[0].state, 2);
  EXPECT_EQ(seen.stacks[0].steps[1].object, outer);
  EXPECT_EQ(seen.waits[seen.stacks[0].wait].kind, AwaitKind::kCompletionSource);
  EXPECT_EQ(seen.waits[seen.stacks[0].wait].object, reply);
  EXPECT_EQ(seen.state_machines, 2U);
  EXPECT_EQ(seen.pending, 2U);
}

TEST_F(AsyncTest, LeaveFinishedMethodsOut) {
  const auto load = method("Shop.Cart+<Load>d__3");
  const auto done = box(load, -2, 0);
  target_.put(done + 8, kRanToCompletion);
  const auto seen = read();
  EXPECT_THAT(seen.stacks, SizeIs(0));
  EXPECT_EQ(seen.state_machines, 1U);
  EXPECT_EQ(seen.pending, 0U);
}

TEST_F(AsyncTest, AreReadyWhenWhatTheyAwaitIsDone) {
  const auto load = method("Shop.Cart+<Load>d__3");
  box(load, 0, number(1));
  task(task_, 0, kRanToCompletion);
  const auto seen = read();
  ASSERT_THAT(seen.stacks, SizeIs(1));
  EXPECT_EQ(seen.waits[seen.stacks[0].wait].kind, AwaitKind::kReady);
}

TEST_F(AsyncTest, GiveAStackForEachWhoAwaitsTheSameTask) {
  const auto load = method("Shop.Cart+<Load>d__3");
  const auto reply = task(task_, number(1));
  const auto list = add(list_);
  const auto items = add(array_);
  point(list, 8, items);
  target_.put<std::int32_t>(list + 16, 2);
  target_.put<std::uint32_t>(items + 8, 4);  // elements
  box(load, 0, reply);
  const auto action = add(action_);
  box(load, 0, reply);
  point(items, 16, number(3));
  point(items, 24, action);
  point(action, 8, number(5));
  const auto seen = read();
  EXPECT_THAT(seen.stacks, SizeIs(2));
  const auto groups = groups_of(seen);
  ASSERT_THAT(groups, SizeIs(1));
  EXPECT_EQ(groups[0].count, 2U);
}

TEST_F(AsyncTest, GoThroughJoins) {
  const auto load = method("Shop.Cart+<Load>d__3");
  const auto all = method("Shop.Cart+<LoadAll>d__4");
  const auto first = task(task_, number(2));
  const auto second = task(task_, number(3));
  box(load, 0, first, number(4));
  box(load, 0, second, number(4));
  const auto join = task(join_, number(5));
  box(all, 0, join);
  const auto seen = read();
  ASSERT_THAT(seen.stacks, SizeIs(2));
  EXPECT_THAT(methods(seen, seen.stacks[1]),
              ElementsAre("Shop.Cart.Load", "Task.WhenAll", "Shop.Cart.LoadAll"));
}

TEST_F(AsyncTest, NameTheThreadThatBlocksOnTheOutermost) {
  const auto load = method("Shop.Cart+<Load>d__3");
  const auto reply = task(task_, number(1));
  const auto outer = box(load, 0, reply, number(2));
  add(mres_);
  Snapshot threads;
  auto& thread = threads.threads.emplace_back();
  thread.os.namespace_tid = 31;
  thread.waiting_for = Wait{.kind = WaitKind::kTask, .object = outer};
  const auto seen = read(&threads);
  ASSERT_THAT(seen.stacks, SizeIs(1));
  EXPECT_EQ(seen.stacks[0].blocked_thread, 31U);
}

TEST_F(AsyncTest, NameTheThreadThatRunsTheMethod) {
  box(method("Shop.Cart+<Load>d__3"), -1, 0);
  Snapshot threads;
  auto& thread = threads.threads.emplace_back();
  thread.os.namespace_tid = 31;
  thread.frames = {{.method = "Shop.Cart+<Load>d__3.MoveNext()"}};
  const auto seen = read(&threads);
  ASSERT_THAT(seen.stacks, SizeIs(1));
  EXPECT_EQ(wait_text(seen.waits[seen.stacks[0].wait]), "running on thread 31");
}

TEST_F(AsyncTest, WaitForASemaphoreByItsList) {
  const auto load = method("Shop.Cart+<Load>d__3");
  const auto semaphore = add(semaphore_);
  const auto first = task(node_, number(3));
  const auto second = task(node_, number(4));
  box(load, 0, first);
  box(load, 0, second);
  target_.put<std::int32_t>(semaphore + 12, 1);
  point(semaphore, 16, first);
  point(first, 32, second);
  const auto groups = groups_of(read());
  ASSERT_THAT(groups, SizeIs(1));
  EXPECT_EQ(groups[0].count, 2U);
  EXPECT_EQ(wait_text(groups[0].wait), "awaiting SemaphoreSlim 0x100000 (0 of 1 free)");
}

TEST_F(AsyncTest, WaitForAPeriodicTimerByItsOwner) {
  const auto state =
      type("System.Threading.PeriodicTimer+State", {{.name = "_owner", .offset = 8}});
  const auto periodic = type("System.Threading.PeriodicTimer", {{.name = "_timer", .offset = 8}});
  const auto queued =
      type("System.Threading.TimerQueueTimer",
           {{.name = "_dueTime", .offset = 8}, {.name = "_startTicks", .offset = 16}});
  const auto timer = add(queued);
  target_.put<std::uint32_t>(timer + 8, 60'000);
  const auto owner = add(periodic);
  point(owner, 8, timer);
  const auto known = add(state);
  point(known, 8, owner);
  const auto unknown = add(state);  // its timer cannot be found
  const auto tick = method("Shop.Clock+<Tick>d__1");
  box(tick, 0, known);
  box(tick, 0, unknown);
  const auto seen = read();
  ASSERT_THAT(seen.waits, SizeIs(2));
  EXPECT_EQ(wait_text(seen.waits[0]), "awaiting PeriodicTimer of 60 s");
  EXPECT_EQ(wait_text(seen.waits[1]), "awaiting PeriodicTimer");
}

TEST_F(AsyncTest, WaitForASocketOperationWithItsPeer) {
  const auto operation = type(
      "System.Net.Sockets.Socket+AwaitableSocketAsyncEventArgs",
      {{.name = "_completedOperation", .offset = 8}, {.name = "_currentSocket", .offset = 16}});
  const auto socket = type("System.Net.Sockets.Socket", {{.name = "_remoteEndPoint", .offset = 8}});
  const auto endpoint = type("System.Net.IPEndPoint",
                             {{.name = "_address", .offset = 8}, {.name = "_port", .offset = 16}});
  const auto address = type("System.Net.IPAddress", {{.name = "_numbers", .offset = 8},
                                                     {.name = "_addressOrScopeId", .offset = 16}});
  const auto four = add(address);
  target_.put<std::uint32_t>(four + 16, 0x0700000a);  // 10.0.0.7
  const auto peer = add(endpoint);
  point(peer, 8, four);
  target_.put<std::uint32_t>(peer + 16, 5432);
  const auto connection = add(socket);
  point(connection, 8, peer);
  const auto load = method("Shop.Cart+<Load>d__3");
  for (const std::uint32_t number : {4U, 77U}) {
    const auto one = add(operation);
    target_.put(one + 8, number);
    point(one, 16, connection);
    box(load, 0, one);
  }
  const auto seen = read();
  ASSERT_THAT(seen.waits, SizeIs(2));
  EXPECT_EQ(seen.waits[0].detail, "Receive from 10.0.0.7:5432");
  EXPECT_EQ(seen.waits[1].detail, "");
  target_.put<std::uint32_t>(peer + 16, 70'000);  // no port
  EXPECT_EQ(read().waits[0].detail, "Receive");
}

TEST_F(AsyncTest, ThatAwaitEachOtherAreACycle) {
  const auto load = method("Shop.Cart+<Load>d__3");
  const auto price = method("Shop.Cart+<Price>d__4");
  box(load, 1, number(1), number(1));
  box(price, 0, number(0), number(0));
  const auto seen = read();
  ASSERT_THAT(seen.cycles, SizeIs(1));
  ASSERT_THAT(seen.cycles[0].links, SizeIs(2));
  EXPECT_EQ(seen.cycles[0].links[0].method, "Shop.Cart.Load");
  EXPECT_EQ(seen.cycles[0].links[0].awaits_text, "Shop.Cart.Price");
  EXPECT_FALSE(seen.cycles[0].by_semaphores);
  ASSERT_THAT(seen.stacks, SizeIs(1));
  EXPECT_EQ(seen.waits[seen.stacks[0].wait].kind, AwaitKind::kCycle);
}

TEST_F(AsyncTest, ThatAwaitThemselvesAreACycle) {
  const auto load = method("Shop.Cart+<Load>d__3");
  task(task_, 0);
  box(load, 1, number(1), number(1));
  EXPECT_THAT(read().cycles, SizeIs(1));
}

class SemaphoreCycleTest : public AsyncTest {
 protected:
  // Two methods, each with one semaphore and in the queue of the other: number 0 and 1.
  void build(std::int32_t state) {
    const auto transfer = method("Shop.Bank+<Transfer>d__1");
    const auto one = add(semaphore_), other = add(semaphore_);
    const auto waits_one = task(node_, number(5)), waits_other = task(node_, number(4));
    box(transfer, state, waits_other, 0, one);
    box(transfer, state, waits_one, 0, other);
    point(one, 16, waits_one);
    point(other, 16, waits_other);
  }
};

TEST_F(SemaphoreCycleTest, IsFoundWhereEachHoldsWhatTheOtherAwaits) {
  build(1);
  const auto seen = read();
  ASSERT_THAT(seen.cycles, SizeIs(1));
  EXPECT_TRUE(seen.cycles[0].by_semaphores);
  EXPECT_THAT(seen.cycles[0].links, SizeIs(2));
  EXPECT_EQ(seen.cycles[0].links[0].awaits, seen.cycles[0].links[1].holds_object);
}

TEST_F(SemaphoreCycleTest, IsNoneWhereTheyAreAtTheirFirstAwait) {
  build(0);
  EXPECT_THAT(read().cycles, SizeIs(0));
}

TEST_F(SemaphoreCycleTest, IsNoneWhereSomebodyElseMayHoldOneAndGoesOn) {
  build(1);
  const auto refund = method("Shop.Bank+<Refund>d__2");
  box(refund, 1, number(7), 0, number(0));
  task(task_, number(6));
  EXPECT_THAT(read().cycles, SizeIs(0));
}

TEST_F(AsyncTest, AreUnchangedAtTheSameAwaitOfTheSameObjects) {
  const auto load = method("Shop.Cart+<Load>d__3");
  const auto reply = task(task_, number(1));
  const auto inner = box(load, 0, reply);
  const auto before = read();
  auto now = read();
  mark_unchanged(now, before);
  EXPECT_TRUE(now.stacks[0].unchanged);
  target_.put<std::int32_t>(inner + 32, 1);  // at its next await
  now = read();
  mark_unchanged(now, before);
  EXPECT_FALSE(now.stacks[0].unchanged);
}

TEST_F(AsyncTest, ThatHaveMovedAreUnchangedOnlyWhenTheyAreOld) {
  const auto load = method("Shop.Cart+<Load>d__3");
  const auto reply = task(task_, number(1));
  box(load, 0, reply);
  auto before = read();
  before.stacks[0].steps[0].object += 0x1000;
  auto now = read();
  mark_unchanged(now, before);
  EXPECT_FALSE(now.stacks[0].unchanged);
  heap_.segments = {{.start = kHeap, .end = kHeap + 0x20000, .generation = HeapGeneration::kGen2}};
  now = read();
  mark_unchanged(now, before);
  EXPECT_TRUE(now.stacks[0].unchanged);
}

TEST_F(AsyncTest, OfALadderOfJoinsAreBounded) {
  // Each step is awaited twice by the next: 2^40 ways.
  constexpr int kSteps = 40;
  for (int i = 0; i < kSteps; ++i) {
    const auto base = static_cast<std::uint64_t>(i) * 5;
    const auto joint = task(join_, number(base + 1));
    const auto list = add(list_);
    const auto items = add(array_);
    task(join_, number(base + 5));
    task(join_, number(base + 5));
    point(joint, 16, list);
    point(list, 8, items);
    target_.put<std::int32_t>(list + 16, 2);
    target_.put<std::uint32_t>(items + 8, 2);
    point(items, 16, number(base + 3));
    point(items, 24, number(base + 4));
  }
  task(join_, 0);
  const auto seen = read();
  EXPECT_LE(seen.stacks.size(), 200'000U);
  EXPECT_GT(seen.stacks_cut, 0U);
  EXPECT_THAT(seen.notes, ElementsAre(HasSubstr("there are more")));
}

TEST_F(AsyncTest, SurviveGarbage) {
  const auto load = method("Shop.Cart+<Load>d__3");
  for (int i = 0; i < 100; ++i)
    add(std::vector{task_, load, list_, array_, node_, semaphore_, source_,
                    action_}[static_cast<std::size_t>(i) % 8]);
  std::uint64_t seed = 7;
  for (int round = 0; round < 20; ++round) {
    for (const auto address : heap_.graph.addresses)
      for (std::uint64_t at = 8; at + 8 <= kSize; at += 8) {
        seed = seed * 6364136223846793005U + 1442695040888963407U;
        // Half of the words are objects, the others anything.
        target_.put(address + at, (seed >> 63) != 0 ? number((seed >> 32) % 100) : seed >> 7);
      }
    const auto seen = read();
    EXPECT_LE(seen.stacks.size(), 200'000U);
    (void)groups_of(seen);
  }
}

TEST_F(AsyncTest, OfDotnetElevenAreSaidToBeIncomplete) {
  runtime_.runtime_version = "11.0.0";
  EXPECT_THAT(read().notes, ElementsAre(HasSubstr("runtime-async")));
}

}  // namespace
}  // namespace clrscope::inspect
