#include "analyze/repeated_commands.h"

#include <gtest/gtest.h>

namespace clrscope::analyze {
namespace {

TEST(RepeatedCommands, AreEqualButForLiterals) {
  EXPECT_EQ(without_literals("SELECT * FROM t1 WHERE id = 17 AND p = 2.50"),
            "SELECT * FROM t1 WHERE id = ? AND p = ?");
  EXPECT_EQ(without_literals("name = 'O''Hara' AND x=1"), "name = ? AND x=?");
  EXPECT_EQ(without_literals("WHERE id = @p0 OR id = $1"), "WHERE id = @p0 OR id = $1");
}

TEST(RepeatedCommands, MayEndWithinALiteral) {
  EXPECT_EQ(without_literals("name = 'half"), "name = ?");
  EXPECT_EQ(without_literals("'"), "?");
  EXPECT_EQ(without_literals(""), "");
}

}  // namespace
}  // namespace clrscope::analyze
