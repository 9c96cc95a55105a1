#include "inspect/async/async.h"

#include <gmock/gmock.h>

#include <map>

#include "inspect/fake_target.h"

namespace clrscope::inspect {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

constexpr std::uint64_t kHeap = 0x100000;
constexpr std::uint64_t kTables = 0x20000;
constexpr std::uint32_t kRanToCompletion = 0x1000000;
constexpr std::uint32_t kSize = 0x80;  // of every object here

// A made-up heap. Tasks: flags at 8, continuation at 16, action at 24. Boxes: their machine at 32:
// its state, then its awaiter at 40, then `this` at 48.
class AsyncTest : public testing::Test {
 protected:
  AsyncTest() {
    target_.add_memory(kHeap, 0x20000);
    target_.add_memory(kTables, 0x8000);
    task_fields_ = {{.name = "m_stateFlags", .offset = 8, .element_type = 8},
                    {.name = "m_continuationObject", .offset = 16, .element_type = 18},
                    {.name = "m_action", .offset = 24, .element_type = 18}};
    task_ = type("System.Threading.Tasks.Task`1[System.Int32]", task_fields_);
    source_ = type("System.Threading.Tasks.TaskCompletionSource`1[System.Int32]",
                   {{.name = "_task", .offset = 8}});
    action_ = type("System.Action", {{.name = "_target", .offset = 8}});
    list_ = type("System.Collections.Generic.List`1[System.Object]",
                 {{.name = "_items", .offset = 8}, {.name = "_size", .offset = 16}});
    array_ = type("System.Object[]", {});
    mres_ = type("System.Threading.Tasks.Task+SetOnInvokeMres", {});
    join_ = type("System.Threading.Tasks.Task+WhenAllPromise", task_fields_);
    semaphore_ = type("System.Threading.SemaphoreSlim", {{.name = "m_currentCount", .offset = 8},
                                                         {.name = "m_maxCount", .offset = 12},
                                                         {.name = "m_asyncHead", .offset = 16}});
    auto node_fields = task_fields_;
    node_fields.push_back({.name = "Next", .offset = 32});
    node_ = type("System.Threading.SemaphoreSlim+TaskNode", node_fields);
    plain_ = type("Shop.Cart", {});
  }

  std::uint32_t type(const std::string& name, std::vector<FieldInfo> fields) {
    const auto id = kTables + 0x100 * heap_.graph.types.size();
    heap_.graph.types.push_back({.name = name, .id = id});
    runtime_.types[id] = {.method_table = id, .name = name, .base_size = kSize, .fields = fields};
    return static_cast<std::uint32_t>(heap_.graph.types.size() - 1);
  }

  // The type of the box of an async method, with its state machine inside.
  std::uint32_t method(const std::string& machine) {
    const auto inner = kTables + 0x4000 + 0x100 * heap_.graph.types.size();
    runtime_.types[inner] = {.method_table = inner,
                             .name = machine,
                             .base_size = 16 + 24,
                             .fields = {{.name = "<>1__state", .offset = 8},
                                        {.name = "<>u__1", .offset = 16, .element_type = 17},
                                        {.name = "<>4__this", .offset = 24}}};
    auto fields = task_fields_;
    fields.push_back({.name = "StateMachine", .offset = 32, .element_type = 17});
    const auto made = type(
        "System.Runtime.CompilerServices.AsyncTaskMethodBuilder`1+AsyncStateMachineBox`1"
        "[System.Int32," +
            machine + "]",
        fields);
    // Its type arguments: a dictionary with two, the second is the machine.
    const auto table = heap_.graph.types[made].id;
    const auto dictionaries = table + 0x60;
    target_.put(table + 48, dictionaries);
    target_.put<std::uint16_t>(dictionaries - 4, 1);
    target_.put<std::uint16_t>(dictionaries - 2, 2);
    target_.put(dictionaries, dictionaries + 16);
    target_.put(dictionaries + 24, inner);
    return made;
  }

  std::uint64_t add(std::uint32_t of) {
    auto& graph = heap_.graph;
    const auto address = kHeap + kSize * graph.addresses.size();
    graph.addresses.push_back(address);
    graph.type_of.push_back(of);
    graph.sizes.push_back(kSize);
    target_.put(address, graph.types[of].id);
    return address;
  }
  std::uint64_t number(std::uint64_t n) const { return kHeap + kSize * n; }

  std::uint64_t task(std::uint32_t of, std::uint64_t next, std::uint32_t flags = 0) {
    const auto address = add(of);
    target_.put(address + 8, flags);
    target_.put(address + 16, next);
    return address;
  }
  std::uint64_t box(std::uint32_t of, std::int32_t state, std::uint64_t awaited,
                    std::uint64_t next = 0, std::uint64_t of_this = 0) {
    const auto address = task(of, next);
    target_.put(address + 32, state);
    target_.put(address + 40, awaited);
    target_.put(address + 48, of_this);
    return address;
  }
  void point(std::uint64_t from, std::uint64_t offset, std::uint64_t to) {
    target_.put(from + offset, to);
  }

  AsyncSnapshot read(const Snapshot* threads = nullptr) {
    auto& graph = heap_.graph;
    graph.first_edge.assign(1, 0);
    graph.edges.clear();
    Memory memory{target_};
    for (const auto address : graph.addresses) {
      for (std::uint64_t at = 8; at + 8 <= kSize; at += 8) {
        const auto word = *memory.pointer(address + at);
        if (word >= kHeap && word < kHeap + kSize * graph.addresses.size() && word % kSize == 0)
          graph.edges.push_back(static_cast<std::uint32_t>((word - kHeap) / kSize));
      }
      graph.first_edge.push_back(static_cast<std::uint32_t>(graph.edges.size()));
    }
    return read_async(target_, runtime_, heap_, threads);
  }
  static std::vector<std::string> methods(const AsyncSnapshot& seen, const AsyncStack& stack) {
    std::vector<std::string> names;
    for (const auto& step : stack.steps) names.push_back(seen.method(step));
    return names;
  }

  FakeTarget target_;
  FakeRuntime runtime_;
  HeapSnapshot heap_;
  std::vector<FieldInfo> task_fields_;
  std::uint32_t task_, source_, action_, list_, array_, mres_, join_, semaphore_, node_, plain_;
};

TEST(AsyncTitle, NamesMethodsLambdasAndLocalFunctions) {
  EXPECT_EQ(async_title("X+AsyncStateMachineBox`1[System.Int32,Shop.Cart+<Load>d__3]"),
            "Shop.Cart.Load");
  EXPECT_EQ(async_title("Shop.Cart+<>c+<<Load>b__3_0>d"), "Shop.Cart.Load (lambda)");
  EXPECT_EQ(async_title("Shop.Cart+<>c__DisplayClass3_0+<<Load>b__1>d"), "Shop.Cart.Load (lambda)");
  EXPECT_EQ(async_title("Program+<<<Main>$>g__Ask|0_1>d"), "Program.Main.Ask (local function)");
  EXPECT_EQ(async_title("Program+<<Main>$>d__0"), "Program.Main");
  EXPECT_EQ(async_title("Shop.Cart"), "Shop.Cart");
}

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
