#include "inspect/page_costs.h"

#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cerrno>

namespace clrscope::inspect {
namespace {

TEST(PageCosts, AreMeasuredAndLeaveNoChild) {
  const auto costs = measure_page_costs();
  EXPECT_GE(costs.copy, std::chrono::microseconds{2});
  EXPECT_LT(costs.copy, std::chrono::milliseconds{10});
  EXPECT_GE(costs.first_write, std::chrono::nanoseconds{700});
  EXPECT_EQ(::waitpid(-1, nullptr, __WALL | WNOHANG), -1);
  EXPECT_EQ(errno, ECHILD);
}

}  // namespace
}  // namespace clrscope::inspect
