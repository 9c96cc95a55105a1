#include "inspect/tasks.h"

#include <gtest/gtest.h>

#include "inspect/fake_target.h"

namespace clrscope::inspect {
namespace {

constexpr std::uint64_t kHeap = 0x10000;
constexpr std::uint64_t kTables = 0x20000;  // where method tables are said to lie
constexpr std::uint64_t kBoxTable = kTables + 0x100;
constexpr std::uint64_t kTaskTable = kTables + 0x200;
constexpr std::uint64_t kActionTable = kTables + 0x300;
constexpr std::uint32_t kRanToCompletion = 0x1000000;

// Objects: {table, state flags, continuation, reference}.
class TasksTest : public testing::Test {
 protected:
  TasksTest() {
    target_.add_memory(kHeap, 0x1000);
    target_.add_memory(kTables, 0x1000);
    const std::vector<FieldInfo> fields{{.name = "m_stateFlags", .offset = 8},
                                        {.name = "m_continuationObject", .offset = 16}};
    runtime_.types[kBoxTable] = {
        .name =
            "System.Runtime.CompilerServices.AsyncTaskMethodBuilder`1+AsyncStateMachineBox`1"
            "[System.Int32,Shop.Cart+<Load>d__3]",
        .base_size = 40,
        .fields = fields};
    runtime_.types[kTaskTable] = {
        .name = "System.Threading.Tasks.Task", .base_size = 40, .fields = fields};
    runtime_.types[kActionTable] = {.name = "System.Action", .base_size = 40};
    walker_ = *Walker::of(target_, nullptr);
  }

  std::uint64_t add(std::uint64_t table, std::uint32_t state, std::uint64_t continuation,
                    std::uint64_t reference) {
    const auto object = kHeap + 0x40 * ++objects_;
    target_.put(object, table);
    target_.put(object + 8, std::uint64_t{state});
    target_.put(object + 16, continuation);
    target_.put(object + 24, reference);
    return object;
  }
  std::uint64_t number(std::uint64_t n) const { return kHeap + 0x40 * n; }

  Objects objects() { return {target_, runtime_, *walker_}; }

  FakeTarget target_;
  FakeRuntime runtime_;
  std::unique_ptr<Walker> walker_;
  std::uint64_t objects_ = 0;
};

TEST(AsyncMethod, IsReadFromTheNameOfItsBox) {
  EXPECT_EQ(async_method_of("X+AsyncStateMachineBox`1[System.Int32,Shop.Cart+<Load>d__3]"),
            "Shop.Cart.Load");
  EXPECT_EQ(async_method_of("Box`1[Shop.Cart+Inner+<Load>d__3]"), "Shop.Cart+Inner.Load");
  EXPECT_EQ(async_method_of("System.Threading.Tasks.Task"), "");
}

TEST_F(TasksTest, AreFollowedToTheOneThatAwaitsNothing) {
  const auto outer = add(kBoxTable, 0, 0, number(2));
  const auto inner = add(kBoxTable, 0, outer, number(3));
  const auto leaf = add(kTaskTable, 0, number(4), 0);
  add(kActionTable, 0, inner, 0);  // a delegate stands between
  auto all = objects();
  const auto chain = follow_task(all, outer);
  EXPECT_EQ(chain.tasks, (std::vector{outer, inner, leaf}));
  EXPECT_FALSE(chain.ready);
}

TEST_F(TasksTest, AreReadyWhenWhatTheyAwaitedIsDone) {
  const auto outer = add(kBoxTable, 0, 0, number(2));
  add(kTaskTable, kRanToCompletion, 0, 0);
  auto all = objects();
  const auto chain = follow_task(all, outer);
  EXPECT_EQ(chain.tasks, (std::vector{outer}));
  EXPECT_TRUE(chain.ready);
}

TEST_F(TasksTest, AreNotFollowedToATaskThatWouldNotRunThemOn) {
  const auto outer = add(kBoxTable, 0, 0, number(2));
  add(kTaskTable, 0, 0, 0);  // held, but not awaited
  auto all = objects();
  EXPECT_EQ(follow_task(all, outer).tasks, (std::vector{outer}));
}

TEST_F(TasksTest, EndWhereTheyAwaitEachOther) {
  const auto first = add(kBoxTable, 0, number(2), number(2));
  const auto second = add(kBoxTable, 0, first, first);
  auto all = objects();
  EXPECT_EQ(follow_task(all, first).tasks, (std::vector{first, second}));
}

}  // namespace
}  // namespace clrscope::inspect
