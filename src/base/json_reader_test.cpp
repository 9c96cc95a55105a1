#include "base/json_reader.h"

#include <gtest/gtest.h>

namespace clrscope {
namespace {

TEST(JsonReader, ReadsEveryKindOfValue) {
  const auto value =
      read_json(R"( {"a":[1,-2,3.5,1e3],"b":"x\n\u00e9\ud83d\ude00","c":true,"d":null} )");
  ASSERT_TRUE(value);
  const auto& numbers = *value->find("a")->array();
  ASSERT_EQ(numbers.size(), 4u);
  EXPECT_EQ(numbers[0].integer(), 1);
  EXPECT_EQ(numbers[1].integer(), -2);
  EXPECT_EQ(numbers[2].integer(), std::nullopt);
  EXPECT_EQ(numbers[2].number(), 3.5);
  EXPECT_EQ(numbers[3].number(), 1000);
  EXPECT_EQ(*value->find("b")->text(), "x\n\xc3\xa9\xf0\x9f\x98\x80");
  EXPECT_EQ(value->find("c")->boolean(), true);
  EXPECT_TRUE(value->find("d")->is_null());
  EXPECT_EQ(value->find("e"), nullptr);
}

TEST(JsonReader, RefusesWhatIsNoJson) {
  for (const char* text :
       {"", "{", "[1,]", "{\"a\"}", "{\"a\":1,}", "[1] 2", "01", "1.", "-", "\"\\x\"",
        "\"\\ud800\"", "\"a", "nul", "{a:1}", "\"\n\"", "[1 2]", "\"\\u12\""})
    EXPECT_FALSE(read_json(text)) << text;
}

TEST(JsonReader, BoundsTheNesting) {
  EXPECT_TRUE(read_json(std::string(60, '[') + std::string(60, ']')));
  const auto deep = read_json(std::string(100'000, '['));
  ASSERT_FALSE(deep);
  EXPECT_NE(deep.error().what.find("nested too deeply"), std::string::npos);
}

TEST(JsonReader, KeepsNumbersThatDoNotFitAsDoubles) {
  const auto value = read_json("123456789012345678901234567890");
  ASSERT_TRUE(value);
  EXPECT_EQ(value->integer(), std::nullopt);
  EXPECT_GT(*value->number(), 1e29);
}

TEST(JsonReader, GivesMembersByNameAndEmptyOnesWhereThereAreNone) {
  const auto value = read_json(R"({"a":"x","b":["y",1],"c":7,"d":-7,"e":1.5,"f":true})");
  ASSERT_TRUE(value);
  EXPECT_EQ(text_at(*value, "a"), "x");
  EXPECT_EQ(text_at(*value, "c"), "");
  EXPECT_EQ(texts_at(*value, "b"), std::vector<std::string>{"y"});
  EXPECT_EQ(count_at(*value, "c"), 7U);
  EXPECT_EQ(count_at(*value, "d"), 0U);
  EXPECT_EQ(number_at(*value, "e"), 1.5);
  EXPECT_EQ(ms_at(*value, "e"), std::chrono::microseconds{1500});
  EXPECT_EQ(ms_at(*value, "d"), std::chrono::nanoseconds{0});
  EXPECT_TRUE(truth_at(*value, "f"));
  EXPECT_FALSE(truth_at(*value, "g"));
}

}  // namespace
}  // namespace clrscope
