#include "collect/perf/event_names.h"

#include <gtest/gtest.h>

#include "collect/perf/tracefs.h"

namespace clrscope::collect::perf {
namespace {

TEST(EventNames, SystemCallsAreTheirTwoRawTracepoints) {
  const auto requests = parse_event_names("syscalls");
  ASSERT_TRUE(requests);
  ASSERT_EQ(requests->size(), 2U);
  EXPECT_EQ((*requests)[0].tracepoint, "raw_syscalls:sys_enter");
  EXPECT_EQ((*requests)[1].tracepoint, "raw_syscalls:sys_exit");
  EXPECT_TRUE((*requests)[0].filter.empty());
  EXPECT_GT((*requests)[0].stack_bytes, 0U);
  EXPECT_EQ((*requests)[1].stack_bytes, 0U);
}

TEST(EventNames, SingleSystemCallsAreFilteredByTheKernel) {
  const auto requests = parse_event_names("syscalls:openat, syscalls:read");
  ASSERT_TRUE(requests);
  ASSERT_EQ(requests->size(), 2U);
  EXPECT_EQ((*requests)[0].filter, "id == 257 || id == 0");
  EXPECT_EQ((*requests)[1].filter, (*requests)[0].filter);
  EXPECT_TRUE(parse_event_names("syscalls:openat,syscalls").value()[0].filter.empty());
}

TEST(EventNames, CountersHappenEachTime) {
  const auto requests = parse_event_names("page-faults,page-faults,cpu-migrations");
  ASSERT_TRUE(requests);
  ASSERT_EQ(requests->size(), 2U);
  EXPECT_EQ((*requests)[0].counter_name, "page-faults");
  EXPECT_TRUE((*requests)[0].each_time());
}

TEST(EventNames, AWrongNameIsAnsweredWithANearOne) {
  const auto hint = [](std::string_view names) {
    const auto requests = parse_event_names(names);
    EXPECT_FALSE(requests);
    return requests ? std::string{} : requests.error().hint;
  };
  EXPECT_EQ(hint("page-fault"), "did you mean page-faults?");
  EXPECT_EQ(hint("syscalls:opnat"), "did you mean openat?");
  EXPECT_NE(hint("entirely-else").find("syscalls"), std::string::npos);
  EXPECT_FALSE(parse_event_names("page-faults,,syscalls"));
  EXPECT_FALSE(parse_event_names(""));
}

TEST(EventNames, TracepointsAreLookedUpInTheKernel) {
  if (const auto tracefs = Tracefs::open(); !tracefs) GTEST_SKIP() << tracefs.error().what;
  const auto one = parse_event_names("sched:sched_switch");
  ASSERT_TRUE(one) << one.error().what;
  EXPECT_EQ((*one)[0].tracepoint, "sched:sched_switch");
  const auto several = parse_event_names("sched:sched_process_*");
  ASSERT_TRUE(several);
  EXPECT_GT(several->size(), 1U);
  const auto wrong = parse_event_names("sched:sched_swich");
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().code, Errc::kUsage);
  EXPECT_EQ(wrong.error().hint, "did you mean sched:sched_switch?");
}

}  // namespace
}  // namespace clrscope::collect::perf
