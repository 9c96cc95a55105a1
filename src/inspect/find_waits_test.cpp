#include "inspect/find_waits.h"

#include <gtest/gtest.h>
#include <sys/syscall.h>

#include "inspect/fake_target.h"
#include "inspect/locks/lock_kind.h"
#include "inspect/thin_locks.h"

namespace clrscope::inspect {
namespace {

constexpr std::uint64_t kHeap = 0x10000;
constexpr std::uint64_t kStack = 0x7f0000;
constexpr std::uint64_t kObject = kHeap + 0x100;
constexpr std::uint64_t kTable = kHeap + 0x800;
constexpr std::uint64_t kFrame = 0x100;  // bytes of each

class FindWaits : public testing::Test {
 protected:
  FindWaits() {
    target_.add_memory(kHeap, 0x1000);
    target_.add_memory(kStack, 0x1000);
    target_.put(kObject, kTable);
    walker_ = *Walker::of(target_, nullptr);
    view_.os.tid = view_.os.namespace_tid = 7;
    view_.os.syscall = SYS_futex;
    view_.runtime = RuntimeThread{.os_id = 7, .managed_id = 1};
  }

  void add_frame(std::string method, FrameKind kind) {
    view_.frames.push_back(
        {.sp = kStack + kFrame * view_.frames.size(), .method = std::move(method), .kind = kind});
  }
  // Has the object's address in the given frame.
  void put_on_stack(std::size_t frame) { target_.put(kStack + kFrame * frame + 0x20, kObject); }
  void set_type(std::string name, std::vector<FieldInfo> fields) {
    runtime_.types[kTable] = {
        .name = std::move(name), .base_size = 64, .fields = std::move(fields)};
  }

  std::optional<Wait> find() {
    unwind::Registers registers;
    registers.set(unwind::kRsp, kStack);
    const auto stack = walker_->read_stack(registers, 0x1000);
    Snapshot seen;
    seen.threads.push_back(view_);
    ThreadView other;
    other.os.namespace_tid = 9;
    other.runtime = RuntimeThread{.os_id = 9, .managed_id = 5};
    seen.threads.push_back(other);
    Objects objects{target_, runtime_, *walker_};
    return find_waits(seen, {stack, stack}, objects, runtime_.monitors.known)[0];
  }

  FakeTarget target_;
  FakeRuntime runtime_;
  std::unique_ptr<Walker> walker_;
  ThreadView view_;
};

TEST_F(FindWaits, KnowsTheOwnerOfALockByItsOsId) {
  add_frame("", FrameKind::kNative);
  add_frame("System.Threading.Lock.TryEnterSlow(int, ThreadId)", FrameKind::kFramework);
  add_frame("Shop.Cart.Add()", FrameKind::kManaged);
  set_type("System.Threading.Lock", {{.name = "_owningThreadId", .offset = 16}});
  target_.put(kObject + 16, std::uint32_t{9});
  put_on_stack(1);
  const auto wait = find();
  ASSERT_TRUE(wait);
  EXPECT_EQ(wait->kind, WaitKind::kLock);
  EXPECT_EQ(wait->object, kObject);
  EXPECT_EQ(wait->owner_os_id, 9u);
}

TEST_F(FindWaits, PassesOverTheLockThatTheThreadHolds) {
  add_frame("System.Threading.Lock.TryEnterSlow(int, ThreadId)", FrameKind::kFramework);
  set_type("System.Threading.Lock", {{.name = "_owningThreadId", .offset = 16}});
  constexpr auto kWanted = kObject + 0x100;
  target_.put(kWanted, kTable);
  target_.put(kObject + 16, std::uint32_t{7});
  target_.put(kWanted + 16, std::uint32_t{9});
  put_on_stack(0);
  target_.put(kStack + 0x40, kWanted);
  const auto wait = find();
  ASSERT_TRUE(wait);
  EXPECT_EQ(wait->object, kWanted);
  EXPECT_EQ(wait->owner_os_id, 9u);
}

TEST_F(FindWaits, KnowsTheWriterByItsManagedId) {
  add_frame("", FrameKind::kNative);
  add_frame("System.Threading.ReaderWriterLockSlim.WaitOnEvent()", FrameKind::kFramework);
  set_type("System.Threading.ReaderWriterLockSlim", {{.name = "_writeLockOwnerId", .offset = 24}});
  target_.put(kObject + 24, std::int32_t{5});
  put_on_stack(0);
  const auto wait = find();
  ASSERT_TRUE(wait);
  EXPECT_EQ(wait->kind, WaitKind::kReaderWriter);
  EXPECT_EQ(wait->owner_os_id, 9u);
}

TEST_F(FindWaits, NamesTheReaderByItsOwnCounts) {
  add_frame("", FrameKind::kNative);
  add_frame("System.Threading.ReaderWriterLockSlim.WaitOnEvent()", FrameKind::kFramework);
  set_type("System.Threading.ReaderWriterLockSlim",
           {{.name = "_owners", .offset = 16}, {.name = "_lockID", .offset = 24}});
  target_.put(kObject + 16, std::uint32_t{1});
  target_.put(kObject + 24, std::int64_t{77});
  put_on_stack(0);
  // Thread static fields: an array of arrays of their values.
  constexpr auto kArrayTable = kHeap + 0x900, kCountTable = kHeap + 0xa00;
  constexpr auto kOuter = kHeap + 0x200, kInner = kHeap + 0x300;
  constexpr auto kOther = kHeap + 0x400, kCount = kHeap + 0x500;
  runtime_.types[kArrayTable] = {.name = "System.Object[]", .base_size = 24, .component_size = 8};
  runtime_.types[kCountTable] = {.name = "System.Threading.ReaderWriterCount",
                                 .base_size = 48,
                                 .fields = {{.name = "lockID", .offset = 8},
                                            {.name = "readercount", .offset = 16},
                                            {.name = "next", .offset = 24}}};
  for (const auto array : {kOuter, kInner}) {
    target_.put(array, kArrayTable);
    target_.put(array + 8, std::uint32_t{2});
  }
  target_.put(kOuter + 24, kInner);
  target_.put(kInner + 16, kOther);
  target_.put(kOther, kCountTable);
  target_.put(kOther + 8, std::int64_t{5});  // of another lock
  target_.put(kOther + 16, std::int32_t{1});
  target_.put(kOther + 24, kCount);
  target_.put(kCount, kCountTable);
  target_.put(kCount + 8, std::int64_t{77});
  target_.put(kCount + 16, std::int32_t{1});
  runtime_.statics[5] = kOuter;
  auto wait = find();
  ASSERT_TRUE(wait);
  EXPECT_EQ(wait->owner_os_id, 9u);
  EXPECT_TRUE(wait->detail.starts_with("held by 1 reader: thread 9")) << wait->detail;
  target_.put(kCount + 24, kOther);  // a list that never ends
  target_.put(kCount + 16, std::int32_t{0});
  wait = find();
  ASSERT_TRUE(wait);
  EXPECT_EQ(wait->owner_os_id, 0u);
  EXPECT_EQ(wait->detail, "held by 1 reader");
}

TEST_F(FindWaits, SeesThinLocksOnTheStacksOfTheirOwners) {
  add_frame("", FrameKind::kNative);
  add_frame("Shop.Cart.Add()", FrameKind::kManaged);
  set_type("Shop.Stock", {});
  put_on_stack(1);
  const auto held = [&](std::uint32_t header) {
    target_.put(kObject - 4, header);
    unwind::Registers registers;
    registers.set(unwind::kRsp, kStack);
    Snapshot seen;
    seen.threads.push_back(view_);
    Objects objects{target_, runtime_, *walker_};
    return find_thin_locks(seen, {walker_->read_stack(registers, 0x1000)}, objects);
  };
  const auto locks = held(0x20001);
  ASSERT_EQ(locks.size(), 1u);
  EXPECT_EQ(locks[0].object, kObject);
  EXPECT_EQ(locks[0].owner_os_id, 7u);
  EXPECT_EQ(locks[0].recursion, 2u);
  EXPECT_EQ(locks[0].type, "Shop.Stock");
  EXPECT_TRUE(held(0).empty());           // nobody's
  EXPECT_TRUE(held(2).empty());           // another thread's
  EXPECT_TRUE(held(0x8000001).empty());   // a sync block's number
  EXPECT_TRUE(held(0x10000001).empty());  // being changed
  view_.running = true;
  EXPECT_TRUE(held(1).empty());
}

TEST_F(FindWaits, SeesAMonitorThatIsEnteredInNativeCode) {
  add_frame("", FrameKind::kNative);
  add_frame("", FrameKind::kRuntime);
  add_frame("Shop.Cart.Add()", FrameKind::kManaged);
  set_type("Shop.Stock", {});
  runtime_.monitors.known = {{.object = kObject, .held = true, .owner_os_id = 9, .waiters = 1}};
  put_on_stack(1);
  const auto wait = find();
  ASSERT_TRUE(wait);
  EXPECT_EQ(wait->kind, WaitKind::kMonitor);
  EXPECT_EQ(wait->type, "Shop.Stock");
  EXPECT_EQ(wait->owner_os_id, 9u);
}

TEST_F(FindWaits, TakesNoMonitorThatTheThreadHoldsItself) {
  add_frame("", FrameKind::kRuntime);
  add_frame("Shop.Cart.Add()", FrameKind::kManaged);
  set_type("Shop.Stock", {});
  runtime_.monitors.known = {{.object = kObject, .held = true, .owner_os_id = 7, .waiters = 1}};
  put_on_stack(0);
  EXPECT_FALSE(find());
}

// Thread 7 uses a type whose static constructor thread 9 runs.
class FindInitializerWaits : public FindWaits {
 protected:
  static constexpr std::uint64_t kThread = kHeap + 0x600, kEntry = kHeap + 0x700;

  FindInitializerWaits() {
    add_frame("", FrameKind::kNative);
    add_frame("", FrameKind::kRuntime);
    add_frame("Shop.Cart.Add()", FrameKind::kManaged);
    set_type("Shop.Prices", {});
    target_.put(kEntry, kThread);
    target_.put(kEntry + 16, kTable);
    target_.put(kStack + kFrame + 0x30, kEntry);
    other_.os.namespace_tid = 9;
    other_.runtime = RuntimeThread{.address = kThread, .os_id = 9, .managed_id = 5};
    other_.frames = {{.method = "Shop.Prices..cctor()", .kind = FrameKind::kManaged}};
  }
  std::optional<Wait> find() {
    unwind::Registers registers;
    registers.set(unwind::kRsp, kStack);
    const auto stack = walker_->read_stack(registers, 0x1000);
    Snapshot seen;
    seen.threads = {view_, other_};
    Objects objects{target_, runtime_, *walker_};
    return find_waits(seen, {stack, stack}, objects, {})[0];
  }
  ThreadView other_;
};

TEST_F(FindInitializerWaits, KnowTheTypeAndTheThreadThatInitializesIt) {
  const auto wait = find();
  ASSERT_TRUE(wait);
  EXPECT_EQ(wait->kind, WaitKind::kTypeInitializer);
  EXPECT_EQ(wait->type, "Shop.Prices");
  EXPECT_EQ(wait->owner_os_id, 9u);
}

TEST_F(FindInitializerWaits, AgreeWithTheStackOfTheOtherThread) {
  other_.frames[0].method = "Shop.Stock..cctor()";  // of another type
  EXPECT_FALSE(find());
  other_.frames[0].method = "Shop.Prices.Load()";
  EXPECT_FALSE(find());
}

TEST_F(FindInitializerWaits, AreOfAnEntryThatNamesThatThread) {
  target_.put(kEntry, kThread + 8);
  EXPECT_FALSE(find());
}

TEST_F(FindWaits, PrefersTheSemaphoreToTheMonitorThatItWaitsBy) {
  add_frame("System.Threading.Monitor.Wait(object, int)", FrameKind::kFramework);
  add_frame("System.Threading.SemaphoreSlim.WaitCore(long)", FrameKind::kFramework);
  add_frame("Shop.Cart.Add()", FrameKind::kManaged);
  const auto wait = find();
  ASSERT_TRUE(wait);
  EXPECT_EQ(wait->kind, WaitKind::kSemaphore);
}

TEST_F(FindWaits, TakesNoWaitBeyondTheProgramsOwnCode) {
  add_frame("System.IO.Stream.Read()", FrameKind::kFramework);
  add_frame("Shop.Cart.Add()", FrameKind::kManaged);
  add_frame("System.Threading.Tasks.Task.InternalWait()", FrameKind::kFramework);
  view_.os.syscall = SYS_read;
  const auto wait = find();
  ASSERT_TRUE(wait);
  EXPECT_EQ(wait->kind, WaitKind::kIo);
  EXPECT_EQ(wait->detail, "read");
}

TEST_F(FindWaits, SaysNothingOfAThreadThatRuns) {
  add_frame("System.Threading.Thread.Sleep(int)", FrameKind::kFramework);
  view_.running = true;
  EXPECT_FALSE(find());
}

TEST_F(FindWaits, KnowsTheThreadThatRunsTheTask) {
  // Thread 7 waits for a task; thread 9 is running it.
  add_frame("System.Threading.Tasks.Task.InternalWaitCore(int)", FrameKind::kFramework);
  add_frame("Shop.Cart.Add()", FrameKind::kManaged);
  put_on_stack(0);
  set_type("System.Threading.Tasks.Task",
           {{.name = "m_stateFlags", .offset = 8}, {.name = "m_continuationObject", .offset = 16}});
  ThreadView runner;
  runner.os.namespace_tid = 9;
  runner.runtime = RuntimeThread{.os_id = 9, .managed_id = 5};
  runner.frames = {{.sp = kStack + 0x800, .method = "Shop.Stock.Load()"},
                   {.sp = kStack + 0x900,
                    .method = "System.Threading.Tasks.Task.ExecuteWithThreadLocal(Task&, Thread)",
                    .kind = FrameKind::kFramework},
                   {.sp = kStack + 0xa00, .method = "System.Threading.Thread.StartCallback()"}};
  const auto find_with_runner = [&] {
    unwind::Registers registers;
    registers.set(unwind::kRsp, kStack);
    const auto stack = walker_->read_stack(registers, 0x1000);
    Snapshot seen;
    seen.threads = {view_, runner};
    Objects objects{target_, runtime_, *walker_};
    return find_waits(seen, {stack, stack}, objects, {})[0];
  };
  ASSERT_TRUE(find_with_runner());
  EXPECT_EQ(find_with_runner()->owner_os_id, 0u);  // the task is not on its stack
  target_.put(kStack + 0x920, kObject);
  EXPECT_EQ(find_with_runner()->kind, WaitKind::kTask);
  EXPECT_EQ(find_with_runner()->owner_os_id, 9u);
}

TEST(Timed, IsAFutexWithATimeout) {
  OsThread thread{.syscall = SYS_futex};
  thread.registers.set(unwind::kR10, 0);
  EXPECT_FALSE(is_timed(thread));
  thread.registers.set(unwind::kR10, 0x7f00);
  EXPECT_TRUE(is_timed(thread));
}

TEST(Timed, IsAWaitThatGoesOnAfterAStop) {
  OsThread thread;
  thread.syscall = SYS_restart_syscall;
  EXPECT_TRUE(is_timed(thread));
}

TEST(Timed, IsNoPollThatWaitsForEver) {
  OsThread thread{.syscall = SYS_poll};
  thread.registers.set(unwind::kRdx, 0xffffffff);
  EXPECT_FALSE(is_timed(thread));
}

TEST(LockKinds, HaveMethodsToBeKnownBy) {
  for (const auto* kind : lock_kinds()) EXPECT_FALSE(kind->methods.empty());
}

}  // namespace
}  // namespace clrscope::inspect
