#include "ops/dump.h"

#include <gtest/gtest.h>

namespace clrscope::ops {
namespace {

using std::chrono::milliseconds;

// Seen: 270 MB took 1.8 to 4.2 s, 700 MB 5.5 s, 8 MB half a second.
TEST(DumpPause, HoldsWhatWasMeasured) {
  const auto holds = [](std::uint64_t megabytes, milliseconds took) {
    const auto pause = dump_pause(megabytes * 1'000'000);
    return pause.least <= took && took <= pause.most;
  };
  EXPECT_TRUE(holds(270, milliseconds{1800}));
  EXPECT_TRUE(holds(270, milliseconds{4200}));
  EXPECT_TRUE(holds(700, milliseconds{5500}));
  EXPECT_TRUE(holds(8, milliseconds{500}));
}

}  // namespace
}  // namespace clrscope::ops
