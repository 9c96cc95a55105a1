#include "base/guarded.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace clrscope {
namespace {

TEST(Guarded, CountsEveryChangeOfManyThreads) {
  Guarded<int> count;
  {
    std::vector<std::jthread> threads;
    threads.reserve(4);
    for (int t = 0; t < 4; ++t)
      threads.emplace_back([&] {
        for (int i = 0; i < 10'000; ++i) count.with([](int& value) { ++value; });
      });
  }
  EXPECT_EQ(count.with([](int value) { return value; }), 40'000);
}

TEST(Guarded, LendsAConstValueWhenConst) {
  const Guarded<std::vector<int>> values{{1, 2, 3}};
  EXPECT_EQ(values.with([](const auto& all) { return all.size(); }), 3U);
}

TEST(Guarded, CanLendAReference) {
  Guarded<int> value{4};
  int& inside = value.with([](int& v) -> int& { return v; });
  inside = 5;
  EXPECT_EQ(value.with([](int v) { return v; }), 5);
}

}  // namespace
}  // namespace clrscope
