#include "analyze/heap/finalizers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace clrscope::analyze {
namespace {

using testing::ElementsAre;
using testing::Pair;

TEST(FinalizerLook, CountsWhatIsDueByType) {
  HeapSnapshot heap;
  heap.graph.types = {{.name = "Shop.Connection"}, {.name = "Shop.Cart"}};
  heap.graph.type_of = {0, 1, 1, 7};
  heap.graph.roots = {{.object = 0, .kind = RootKind::kFinalizer},
                      {.object = 1, .kind = RootKind::kFinalizer},
                      {.object = 2, .kind = RootKind::kFinalizer},
                      {.object = 3, .kind = RootKind::kFinalizer},   // its type is nowhere
                      {.object = 99, .kind = RootKind::kFinalizer},  // nor is this object
                      {.object = 0, .kind = RootKind::kStack}};
  EXPECT_FALSE(look_at_finalizers(heap, std::chrono::seconds{1}));
  heap.to_finalize = 5;
  const auto look = look_at_finalizers(heap, std::chrono::seconds{1});
  ASSERT_TRUE(look);
  EXPECT_EQ(look->due, 5);
  EXPECT_THAT(look->types, ElementsAre(Pair("Shop.Cart", 2), Pair("Shop.Connection", 1)));
}

}  // namespace
}  // namespace clrscope::analyze
