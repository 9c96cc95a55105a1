#include "ops/central_settings.h"

#include <gtest/gtest.h>

namespace clrscope::ops {
namespace {

TEST(CentralSettings, AreReadFromALineAndBounded) {
  const auto read = central_settings_of(
      R"({"configuration":{"version":3,"include":["Shop","A.*"],"exclude":["B"],"sample":7,"budgetPercent":900}})");
  ASSERT_TRUE(read);
  EXPECT_EQ(read->version, 3U);
  EXPECT_EQ(read->include, (std::vector<std::string>{"Shop", "A.*"}));
  EXPECT_EQ(read->exclude, (std::vector<std::string>{"B"}));
  EXPECT_EQ(read->sample, 1.0);
  EXPECT_EQ(read->budget_percent, 50.0);
  EXPECT_FALSE(central_settings_of(R"({"configuration":{"version":0}})")->sample);
  for (const auto* line : {"", "x", "[]", R"({"batches":1})", R"({"configuration":[]})"})
    EXPECT_FALSE(central_settings_of(line)) << line;
}

}  // namespace
}  // namespace clrscope::ops
