#include "base/text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace clrscope {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;

std::chrono::nanoseconds duration(std::string_view text) {
  const auto parsed = parse_duration(text);
  EXPECT_TRUE(parsed) << text;
  return parsed.value_or(-1ns);
}

std::uint64_t size(std::string_view text) {
  const auto parsed = parse_size(text);
  EXPECT_TRUE(parsed) << text;
  return parsed.value_or(~std::uint64_t{0});
}

TEST(Split, KeepsEmptyParts) {
  EXPECT_THAT(split("a,,b,", ','), ElementsAre("a", "", "b", ""));
  EXPECT_THAT(split("", ','), ElementsAre(""));
}

TEST(Trim, TakesBlanksFromBothEnds) {
  EXPECT_EQ(trim(" \ta b\r\n"), "a b");
  EXPECT_EQ(trim(" \n"), "");
}

TEST(EqualIgnoringCase, ComparesLettersOnly) {
  EXPECT_TRUE(equal_ignoring_case("MiB", "mib"));
  EXPECT_FALSE(equal_ignoring_case("mib", "mi"));
  EXPECT_FALSE(equal_ignoring_case("[", "{"));
}

TEST(ParseNumber, TakesDecimalAndHexadecimal) {
  EXPECT_EQ(parse_number("42"), 42U);
  EXPECT_EQ(parse_number("0x4c14fccbd"), 0x4c14fccbdU);
  EXPECT_EQ(parse_number("0XfF"), 255U);
  EXPECT_EQ(parse_number("18446744073709551615"), ~std::uint64_t{0});
}

TEST(ParseNumber, RefusesAnythingElse) {
  for (const auto* text : {"", "0x", "-1", "+1", " 1", "1 ", "1.5", "ff", "18446744073709551616"})
    EXPECT_EQ(parse_number(text), std::nullopt) << text;
}

TEST(GlobMatch, MatchesTheWholeText) {
  EXPECT_TRUE(glob_match("Shop.*", "Shop.Orders.Place"));
  EXPECT_TRUE(glob_match("*.Place", "Shop.Orders.Place"));
  EXPECT_TRUE(glob_match("Shop.*+*.MoveNext", "Shop.Orders+<Place>d__3.MoveNext"));
  EXPECT_TRUE(glob_match("?hop", "Shop"));
  EXPECT_TRUE(glob_match("*", ""));
  EXPECT_TRUE(glob_match("", ""));
  EXPECT_FALSE(glob_match("Shop", "Shop.Orders"));
  EXPECT_FALSE(glob_match("Shop.?", "Shop."));
  EXPECT_FALSE(glob_match("*.Place", "Shop.Place2"));
  EXPECT_FALSE(glob_match("", "x"));
}

TEST(GlobMatch, TriesEveryPlaceForAStar) {
  EXPECT_TRUE(glob_match("*ab*abc", "ababxabc"));
  EXPECT_FALSE(glob_match("*ab*abc", "ababxab"));
}

TEST(GlobMatch, IsNotSlowOnManyStars) {
  EXPECT_FALSE(glob_match("*a*a*a*a*a*a*a*a*b", std::string(20'000, 'a')));
}

TEST(ParseDuration, TakesEveryUnit) {
  EXPECT_EQ(duration("30"), 30s);
  EXPECT_EQ(duration("30s"), 30s);
  EXPECT_EQ(duration("5m"), 5min);
  EXPECT_EQ(duration("5min"), 5min);
  EXPECT_EQ(duration("2h"), 2h);
  EXPECT_EQ(duration("1d"), 24h);
  EXPECT_EQ(duration("500ms"), 500ms);
  EXPECT_EQ(duration("1.5s"), 1500ms);
  EXPECT_EQ(duration("0"), 0s);
}

TEST(ParseDuration, TakesClockNotation) {
  EXPECT_EQ(duration("00:00:30"), 30s);
  EXPECT_EQ(duration("01:02:03"), 1h + 2min + 3s);
  EXPECT_EQ(duration("01:00:00:30"), 24h + 30s);
  EXPECT_EQ(duration("48:00:00"), 48h);
}

TEST(ParseDuration, RefusesNonsenseWithAHint) {
  for (const auto* text :
       {"", "s", "-5s", "5 parsecs", "nan", "inf", "1e9", "00:30", "00:00:00:00:1", "0:60:00",
        "0:00:60", "1:24:00:00", "a:b:c", "9999999d"})
    EXPECT_FALSE(parse_duration(text)) << text;
  const auto wrong = parse_duration("soon");
  EXPECT_EQ(wrong.error().code, Errc::kUsage);
  EXPECT_EQ(wrong.error().what, "'soon' is not a duration");
  EXPECT_NE(wrong.error().hint, "");
}

TEST(ParseSize, TakesPowersOf1000And1024) {
  EXPECT_EQ(size("1000"), 1000U);
  EXPECT_EQ(size("64KiB"), 65536U);
  EXPECT_EQ(size("64k"), 65536U);
  EXPECT_EQ(size("500KB"), 500'000U);
  EXPECT_EQ(size("1.5GiB"), 1610612736U);
  EXPECT_EQ(size("2 mb"), 2'000'000U);
  EXPECT_EQ(size("0"), 0U);
}

TEST(ParseSize, RefusesNonsense) {
  for (const auto* text : {"", "MB", "-1", "1XB", "1e3", "99999999TB"})
    EXPECT_FALSE(parse_size(text)) << text;
}

TEST(FormatBytes, KeepsTwoOrThreeDigits) {
  EXPECT_EQ(format_bytes(0), "0 B");
  EXPECT_EQ(format_bytes(999), "999 B");
  EXPECT_EQ(format_bytes(1000), "1.0 KB");
  EXPECT_EQ(format_bytes(6'812'345), "6.8 MB");
  EXPECT_EQ(format_bytes(9'960'000), "10 MB");
  EXPECT_EQ(format_bytes(210'000'000), "210 MB");
  EXPECT_EQ(format_bytes(999'600'000), "1.0 GB");
  EXPECT_EQ(format_bytes(~std::uint64_t{0}), "18 EB");
}

TEST(FormatCount, GroupsByThousands) {
  EXPECT_EQ(format_count(0), "0");
  EXPECT_EQ(format_count(999), "999");
  EXPECT_EQ(format_count(1000), "1,000");
  EXPECT_EQ(format_count(29'870), "29,870");
  EXPECT_EQ(format_count(1'234'567'890), "1,234,567,890");
}

TEST(FormatUptime, NamesTheTwoLargestUnits) {
  EXPECT_EQ(format_uptime(42s), "42s");
  EXPECT_EQ(format_uptime(11min + 5s), "11m");
  EXPECT_EQ(format_uptime(5h + 7min), "5h07m");
  EXPECT_EQ(format_uptime(76h), "3d04h");
}

TEST(FormatDuration, ChoosesTheUnit) {
  EXPECT_EQ(format_duration(0ns), "0 ms");
  EXPECT_EQ(format_duration(12ns), "12 ns");
  EXPECT_EQ(format_duration(4200us), "4.2 ms");
  EXPECT_EQ(format_duration(30s), "30 s");
  EXPECT_EQ(format_duration(119s), "119 s");
  EXPECT_EQ(format_duration(119'700ms), "2 min");
  EXPECT_EQ(format_duration(143s), "2 min 23 s");
  EXPECT_EQ(format_duration(3h), "3 h");
  EXPECT_EQ(format_duration(76h + 12s), "3 d 4 h");
  EXPECT_EQ(format_duration(5ms), "5 ms");
  EXPECT_EQ(format_duration(9970us), "10 ms");
  EXPECT_EQ(format_duration(999'700us), "1 s");
  EXPECT_EQ(format_duration(1500ns), "1.5 µs");
}

TEST(Nearest, FindsTheWordThatWasMeant) {
  EXPECT_EQ(nearest("colect", {"check", "collect", "convert"}), "collect");
  EXPECT_EQ(nearest("PS", {"ps", "top"}), "ps");
  EXPECT_EQ(nearest("stakcs", {"stacks", "check"}), "stacks");
}

TEST(Nearest, FindsNothingWhenAllAreFar) {
  EXPECT_EQ(nearest("banana", {"check", "collect"}), std::nullopt);
  EXPECT_EQ(nearest("x", {}), std::nullopt);
}

}  // namespace
}  // namespace clrscope
