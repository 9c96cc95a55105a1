#include "ops/dump.h"

#include <gtest/gtest.h>

namespace clrscope::ops {
namespace {

using std::chrono::milliseconds;

// 270 MB were seen to take 1.8 to 4.2 s; 5.5 s a process that was announced as 1.8, about 700 MB.
TEST(DumpPause, HoldsWhatWasSeen) {
  const auto holds = [](std::uint64_t megabytes, milliseconds took) {
    const auto pause = dump_pause(megabytes * 1'000'000);
    return pause.least <= took && took <= pause.most;
  };
  EXPECT_TRUE(holds(270, milliseconds{1800}));
  EXPECT_TRUE(holds(270, milliseconds{4200}));
  EXPECT_TRUE(holds(700, milliseconds{5500}));
}

}  // namespace
}  // namespace clrscope::ops
