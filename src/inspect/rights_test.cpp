#include "inspect/rights.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

namespace clrscope::inspect {
namespace {

using testing::HasSubstr;

TEST(TraceHint, NamesTheOtherTracer) {
  EXPECT_EQ(trace_hint({.tracer = 77, .tracer_name = "gdb"}),
            "end gdb (77) first: a process has one tracer at a time");
}

TEST(TraceHint, NamesTheOwner) {
  EXPECT_THAT(trace_hint({.owner = 5, .owner_name = "app", .our_uid = 6}),
              HasSubstr("owns the process (app)"));
  EXPECT_THAT(trace_hint({.owner = 5, .our_uid = 0, .we_may_trace_all = true}),
              Not(HasSubstr("run as the user")));
}

TEST(TraceHint, NamesYama) {
  EXPECT_THAT(trace_hint({.yama_scope = 1}), HasSubstr("ptrace_scope is 1"));
  EXPECT_THAT(trace_hint({.we_may_trace_all = true, .yama_scope = 3}), HasSubstr("restarted"));
  EXPECT_THAT(trace_hint({}), HasSubstr("dumpable"));
}

TEST(CannotTrace, TellsGoneFromForbidden) {
  EXPECT_EQ(cannot_trace("stop", 1 << 30, ESRCH).take().code, Errc::kNotFound);
  const auto denied = cannot_trace("stop", ::getpid(), EPERM).take();
  EXPECT_EQ(denied.code, Errc::kDenied);
  EXPECT_FALSE(denied.hint.empty());
}

}  // namespace
}  // namespace clrscope::inspect
