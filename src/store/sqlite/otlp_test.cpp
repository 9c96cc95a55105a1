#include <gtest/gtest.h>

#include "store/otlp_span.h"
#include "store/testing/test_store.h"

namespace clrscope::store {
namespace {

constexpr TraceId kTrace{1, 2, 3};

OtlpSpan sample(int number) {
  return {.trace = kTrace,
          .span_id = fmt::format("{:016x}", number),
          .parent_id = number > 1 ? fmt::format("{:016x}", number - 1) : "",
          .service = "gateway",
          .host = "edge-1",
          .version = "3",
          .scope = "lib",
          .name = "it's\na name",
          .kind = "client",
          .status = "error",
          .message = "why",
          .begin = WallTime{nanoseconds{kBegin + number}},
          .duration = nanoseconds{1000},
          .attributes = {{"a", "1"}, {"b", std::string{"\0x", 2}}},
          .attributes_dropped = 4};
}

using OtlpStore = SqliteStoreTest;

TEST_F(OtlpStore, StoresASpanOnceHoweverOftenItIsSent) {
  auto& store = open();
  ASSERT_TRUE(store.add_otlp(std::vector{sample(1), sample(2)}));
  ASSERT_TRUE(store.add_otlp(std::vector{sample(2), sample(3)}));
  auto& again = open();
  const auto found = again.otlp_spans(kTrace);
  ASSERT_TRUE(found) << found.error().what;
  ASSERT_EQ(found->size(), 3U);
  for (int i = 0; i < 3; ++i) {
    const auto& one = (*found)[static_cast<std::size_t>(i)];
    EXPECT_EQ(content_of(one), content_of(sample(i + 1)));
    EXPECT_EQ(one.attributes[1].value, sample(1).attributes[1].value);
    EXPECT_EQ(one.attributes_dropped, 4U);
  }
  EXPECT_TRUE(again.otlp_spans(TraceId{9})->empty());
}

TEST_F(OtlpStore, KeepsTwoSpansOfTheSameIdThatDiffer) {
  auto& store = open();
  auto other = sample(1);
  other.kind = "server";
  ASSERT_TRUE(store.add_otlp(std::vector{sample(1), other}));
  EXPECT_EQ(store.otlp_spans(kTrace)->size(), 2U);
}

TEST_F(OtlpStore, DeletesWhatIsPastItsRetention) {
  auto& store = open({.age = std::chrono::hours{1}});
  auto old = sample(1);
  old.begin -= std::chrono::hours{2};
  ASSERT_TRUE(store.add_otlp(std::vector{old, sample(2)}));
  ASSERT_TRUE(store.expire(kNow));
  ASSERT_EQ(store.otlp_spans(kTrace)->size(), 1U);
  EXPECT_EQ(store.otlp_spans(kTrace)->front().span_id, sample(2).span_id);
}

TEST_F(OtlpStore, DeletesTheOldestSpansWhenTheStoreIsTooLarge) {
  auto& store = open({.age = std::chrono::hours{1000}, .max_bytes = 1});
  ASSERT_TRUE(store.add_otlp(std::vector{sample(1)}));
  ASSERT_TRUE(store.expire(kNow));
  EXPECT_TRUE(store.otlp_spans(kTrace)->empty());
}

// It is stored: another number would store a span twice.
TEST(OtlpSpan, HasAContentThatNeverChanges) {
  EXPECT_EQ(content_of(sample(1)), content_of(sample(1)));
  EXPECT_NE(content_of(sample(1)), content_of(sample(2)));
}

TEST(OtlpSpan, RefusesDamagedAttributes) {
  EXPECT_FALSE(
      read_attributes(as_bytes("\x05"
                               "ab")));
  EXPECT_TRUE(read_attributes({})->empty());
}

}  // namespace
}  // namespace clrscope::store
