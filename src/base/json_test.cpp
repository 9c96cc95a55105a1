#include "base/json.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace clrscope {
namespace {

using namespace std::string_view_literals;

std::string quoted(std::string_view text) {
  std::string out;
  append_json_string(out, text);
  return out;
}

template <class T>
std::string written(T value) {
  return JsonWriter{}.value(value).text();
}

TEST(JsonString, EscapesWhatJsonAndScriptsRequire) {
  EXPECT_EQ(quoted("plain äöü 😀"), "\"plain äöü 😀\"");
  EXPECT_EQ(quoted("a\"b\\c"), R"("a\"b\\c")");
  EXPECT_EQ(quoted("\n\r\t"), R"("\n\r\t")");
  EXPECT_EQ(quoted("\0\x1f"sv), R"("\u0000\u001f")");
  EXPECT_EQ(quoted("</script>"), R"("\u003c/script>")");
}

TEST(JsonString, EscapesWhatCommandsATerminal) {
  EXPECT_EQ(quoted("a\u009b2J\u202eb"), R"("a\u009b2J\u202eb")");
  EXPECT_EQ(quoted("\u2028"), R"("\u2028")");
}

TEST(JsonString, MendsWhatIsNotUtf8) {
  EXPECT_EQ(quoted("a\xff"
                   "b"),
            "\"a\uFFFDb\"");
  EXPECT_EQ(quoted("\xc3"), "\"\uFFFD\"");
  EXPECT_EQ(quoted("\xe2\x82x"), "\"\uFFFD\uFFFDx\"");
  EXPECT_EQ(quoted("\xed\xa0\x80"), "\"\uFFFD\uFFFD\uFFFD\"");
  EXPECT_EQ(quoted("\xf4\x90\x80\x80"), "\"\uFFFD\uFFFD\uFFFD\uFFFD\"");
}

TEST(JsonWriter, PutsCommasBetweenMembersAndElements) {
  JsonWriter json;
  json.begin_object().member("a", 1).key("b").begin_array().value("x").value(true).null();
  json.begin_object().end_object().begin_array().end_array().end_array().member("c", "d");
  json.end_object();
  EXPECT_EQ(json.text(), R"({"a":1,"b":["x",true,null,{},[]],"c":"d"})");
}

TEST(JsonWriter, EscapesKeys) {
  EXPECT_EQ(JsonWriter{}.begin_object().member("a\"b", 1).end_object().text(), R"({"a\"b":1})");
}

TEST(JsonWriter, WritesNumbersExactly) {
  EXPECT_EQ(written(std::numeric_limits<std::uint64_t>::max()), "18446744073709551615");
  EXPECT_EQ(written(std::numeric_limits<std::int64_t>::min()), "-9223372036854775808");
  EXPECT_EQ(written(std::uint8_t{7}), "7");
  EXPECT_EQ(written(0.1), "0.1");
  EXPECT_EQ(written(1e300), "1e+300");
  EXPECT_EQ(written(3.0), "3");
}

TEST(JsonWriter, WritesNullForWhatJsonCannotSay) {
  EXPECT_EQ(written(std::nan("")), "null");
  EXPECT_EQ(written(std::numeric_limits<double>::infinity()), "null");
}

TEST(JsonWriter, LetsItsTextBeTakenAwayWhileItWrites) {
  std::string taken;
  JsonWriter json{[&](std::string& text) { taken += std::exchange(text, {}); }};
  json.begin_object().key("a").begin_array().value(1).value("b").end_array().member("c", true);
  json.end_object();
  EXPECT_EQ(taken + std::move(json).take(), R"({"a":[1,"b"],"c":true})");
}

TEST(JsonWriter, CanBeUsedAgain) {
  JsonWriter json;
  json.begin_array().value(1).end_array();
  json.clear();
  json.begin_array().value(2).end_array();
  EXPECT_EQ(std::move(json).take(), "[2]");
}

}  // namespace
}  // namespace clrscope
