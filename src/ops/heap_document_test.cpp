#include <gmock/gmock.h>

#include "answer/text.h"
#include "ops/heap.h"

namespace clrscope::ops {
namespace {

using analyze::HeapNodeKind;
using testing::HasSubstr;

TEST(ShortType, DropsNamespacesAndSpellsArgumentsAsInCSharp) {
  EXPECT_EQ(short_type("System.String"), "String");
  EXPECT_EQ(short_type("Shop.Order[]"), "Order[]");
  EXPECT_EQ(short_type("System.Double[,]"), "Double[,]");
  EXPECT_EQ(short_type("Shop.Cart+Line"), "Cart.Line");
  EXPECT_EQ(short_type("System.Collections.Generic.List`1[Shop.Order]"), "List<Order>");
  EXPECT_EQ(short_type("System.Collections.Generic.Dictionary`2+Entry[System.String,Shop.Order][]"),
            "Dictionary.Entry<String, Order>[]");
  EXPECT_EQ(short_type("A.B`1[C.D`2[System.Int32, System.Byte[]]]"), "B<D<Int32, Byte[]>>");
  EXPECT_EQ(short_type("Shop.Program+<>c__DisplayClass0_0"), "Program.<>c__DisplayClass0_0");
}

TEST(ShortType, TakesAnyText) {
  for (const auto* odd : {"", "]", "[", "`", "a]b", "[[[", ".", "a.", "`1[", "[,"})
    EXPECT_LE(short_type(odd).size(), 2 * std::string_view{odd}.size() + 2) << odd;
}

HeapAnswer shop() {
  HeapAnswer heap{.heap = {.pid = 4312,
                           .name = "shop",
                           .runtime = "10.0.0",
                           .pause = std::chrono::milliseconds{12},
                           .objects = 1000,
                           .bytes = 500'000,
                           .unreachable_objects = 10,
                           .unreachable_bytes = 4000},
                  .all_types = 2};
  heap.types = {{"Shop.Order", "Shop", 800, 400'000, 480'000},
                {"System.String", "", 100, 9000, 9000}};
  heap.dominators = {
      {.kind = HeapNodeKind::kHeap, .retained = 496'000},
      {.parent = 0,
       .kind = HeapNodeKind::kRoot,
       .name = "Shop.Cart.s_all",
       .root = RootKind::kStatic,
       .retained = 490'000},
      {.parent = 0, .kind = HeapNodeKind::kShared, .retained = 6000},
      {.parent = 1,
       .name = "System.Collections.Generic.List`1[Shop.Order]",
       .count = 1,
       .bytes = 32,
       .retained = 490'000},
      {.parent = 3, .name = "Shop.Order[]", .count = 1, .bytes = 9000, .retained = 489'000},
      {.parent = 4, .name = "Shop.Order", .count = 800, .bytes = 400'000, .retained = 480'000}};
  return heap;
}

TEST(HeapDocument, AnswersFirstWhatKeepsMemoryAlive) {
  const auto text = answer::page_text(heap_document(shop(), {.target = "-p 4312"}));
  EXPECT_THAT(text, HasSubstr("shop (4312), .NET 10.0.0: 1,000 objects"));
  EXPECT_THAT(text, HasSubstr("garbage, not collected yet"));
  EXPECT_THAT(text, HasSubstr("static Cart.s_all"));
  EXPECT_THAT(text, HasSubstr("List<Order> > Order[] > 800 Order"));
  EXPECT_THAT(text, HasSubstr("several roots"));
  EXPECT_THAT(text, HasSubstr("Next: clrscope heap -p 4312 --type Shop.Order"));
  EXPECT_LT(text.find("What keeps memory alive"), text.find("Types, by size"));
}

TEST(HeapDocument, ShowsTheTreeIndented) {
  const auto text = answer::page_text(heap_document(shop(), {.dominators = true}));
  EXPECT_THAT(text, HasSubstr("  static Shop.Cart.s_all\n"));
  EXPECT_THAT(text, HasSubstr("    Shop.Order[]\n"));
  EXPECT_THAT(text, HasSubstr("(several roots)"));
}

TEST(HeapDocument, QuotesTypesInCommands) {
  auto heap = shop();
  heap.dominators.clear();
  heap.types[0].type = "List`1[Shop.Order]";
  EXPECT_THAT(heap_document(heap, {.target = "-p 1"}).next,
              HasSubstr("--type 'List`1[Shop.Order]'"));
  EXPECT_EQ(heap_document(heap, {}).next, "");
}

TEST(HeapDocument, WritesPathsWithTheRootFirst) {
  EXPECT_EQ(path_text({{.root = RootKind::kStatic, .name = "Shop.Cart.s_all"},
                       {.name = "Shop.Node", .times = 12},
                       {.name = "Shop.Order"}}),
            "static Shop.Cart.s_all > Node x12 > Order");
  EXPECT_EQ(path_text({{.root = RootKind::kFinalizer, .name = "finalizer queue"}}),
            "finalizer queue");
}

TEST(HeapDocument, ShowsGrowthWithItsSign) {
  const HeapDiffAnswer diff{
      .before = {.objects = 10, .bytes = 1000},
      .after = {.pid = 4312, .name = "shop", .objects = 8, .bytes = 3000},
      .objects_change = -2,
      .bytes_change = 2000,
      .all_types = 2,
      .types = {{.type = "Shop.Order", .count_after = 5, .count_change = 5, .bytes_change = 2100},
                {.type = "Shop.Old", .count_change = -7, .bytes_change = -100}},
      .roots = {{.kind = RootKind::kStatic, .name = "s_all", .retained_change = 2100}}};
  const auto text = answer::page_text(heap_diff_document(diff, {.target = "-p 4312"}));
  EXPECT_THAT(text, HasSubstr("+2.0 KB and -2 objects"));
  EXPECT_THAT(text, HasSubstr("-7"));
  EXPECT_THAT(text, HasSubstr("static s_all"));
  EXPECT_THAT(text, HasSubstr("--type Shop.Order"));
}

}  // namespace
}  // namespace clrscope::ops
