#include "analyze/syscalls.h"

#include <gtest/gtest.h>

#include "analyze/test_trace.h"

namespace clrscope::analyze {
namespace {

EventType enter_type() {
  EventType type;
  type.index = 1000;
  type.id = 1;
  type.provider = "Linux.Events";
  type.name = "raw_syscalls:sys_enter";
  type.fields = {{.name = "name", .type = TypeCode::kUtf16Text},
                 {.name = "id", .type = TypeCode::kInt64}};
  return type;
}
EventType exit_type() {
  auto type = enter_type();
  type.index = 1001;
  type.id = 2;
  type.name = "raw_syscalls:sys_exit";
  type.fields.push_back({.name = "ret", .type = TypeCode::kInt64});
  return type;
}

class SyscallsTest : public testing::Test {
 protected:
  void enter(TestTrace::At at, std::string_view name, std::vector<std::uint64_t> stack = {}) {
    trace_.typed(enter_, at, Payload{}.text(name).add(std::int64_t{1}), stack);
  }
  void exit(TestTrace::At at, std::string_view name, std::int64_t result) {
    trace_.typed(exit_, at, Payload{}.text(name).add(std::int64_t{1}).add(result));
  }
  const SyscallRow& row(std::string_view name) {
    for (const auto& one : calls_.rows())
      if (one.name == name) return one;
    ADD_FAILURE() << "no row for " << name;
    static const SyscallRow none{};
    return none;
  }

  EventType enter_ = enter_type();
  EventType exit_ = exit_type();
  TestTrace trace_;
  Syscalls calls_;
};

TEST_F(SyscallsTest, PairsACallWithItsReturnByThread) {
  enter({.time = 1000, .thread = 1}, "read");
  enter({.time = 1100, .thread = 2}, "read");
  exit({.time = 1500, .thread = 2}, "read", 4);
  exit({.time = 4000, .thread = 1}, "read", 0);
  trace_.read_into(calls_);
  EXPECT_EQ(row("read").count, 2U);
  EXPECT_EQ(row("read").timed, 2U);
  EXPECT_EQ(row("read").ns, 3400U);
  EXPECT_EQ(row("read").longest_ns, 3000U);
  EXPECT_EQ(row("read").errors, 0U);
}

TEST_F(SyscallsTest, PairsWhatComesOutOfOrder) {
  // As two CPUs are read one after the other: the thread moved in between.
  exit({.time = 2000, .thread = 1}, "write", 1);
  enter({.time = 1000, .thread = 1}, "write");
  trace_.read_into(calls_);
  EXPECT_EQ(row("write").timed, 1U);
  EXPECT_EQ(row("write").ns, 1000U);
  EXPECT_EQ(row("write").unended, 0U);
}

TEST_F(SyscallsTest, CountsWhatBeganBeforeAndWhatDidNotEnd) {
  exit({.time = 500, .thread = 1}, "poll", 0);
  enter({.time = 1000, .thread = 2}, "futex");
  trace_.read_into(calls_);
  EXPECT_EQ(row("poll").count, 1U);
  EXPECT_EQ(row("poll").timed, 0U);
  EXPECT_EQ(row("futex").count, 1U);
  EXPECT_EQ(row("futex").unended, 1U);
}

TEST_F(SyscallsTest, DoesNotTimeACallByTheReturnOfAnother) {
  enter({.time = 1000, .thread = 1}, "read");
  exit({.time = 2000, .thread = 1}, "write", 1);  // what lies between was lost
  trace_.read_into(calls_);
  EXPECT_EQ(row("read").unended, 1U);
  EXPECT_EQ(row("write").ns, 0U);
}

TEST_F(SyscallsTest, CountsErrorsByNumber) {
  for (const std::int64_t result : {-11L, -11L, -2L, 5L, -5000L}) {
    enter({.time = 1000, .thread = 1}, "openat");
    exit({.time = 1001, .thread = 1}, "openat", result);
  }
  trace_.read_into(calls_);
  EXPECT_EQ(row("openat").errors, 3U);
  EXPECT_EQ(row("openat").by_errno.at(11), 2U);
  EXPECT_EQ(row("openat").by_errno.at(2), 1U);
  EXPECT_EQ(errno_name(11), "EAGAIN");
  EXPECT_EQ(errno_name(512), "ERESTARTSYS");
  EXPECT_EQ(errno_name(3999), "3999");
}

TEST_F(SyscallsTest, NamesThePlaceThatCalls) {
  trace_.mapping({.time = 1}, 1, 0x1000, 0x2000, "/lib/libshop.so");
  trace_.symbol({.time = 1}, 1, 0x1000, 0x10ff, "load_cart");
  trace_.symbol({.time = 1}, 1, 0x1100, 0x11ff, "save_cart");
  enter({.time = 1000, .thread = 1}, "read", {0x1010});
  exit({.time = 1100, .thread = 1}, "read", 1);
  enter({.time = 2000, .thread = 1}, "read", {0x1110});
  exit({.time = 2500, .thread = 1}, "read", 1);
  trace_.read_into(calls_);
  ASSERT_EQ(row("read").places.size(), 2U);
  EXPECT_EQ(calls_.frame(row("read").places[0].site).method, "save_cart");
  EXPECT_EQ(row("read").places[0].ns, 500U);
  EXPECT_EQ(row("read").places[1].count, 1U);
}

}  // namespace
}  // namespace clrscope::analyze
