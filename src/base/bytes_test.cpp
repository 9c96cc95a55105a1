#include "base/bytes.h"

#include <gtest/gtest.h>

#include <limits>

namespace clrscope {
namespace {

using namespace std::string_view_literals;

std::vector<std::uint8_t> varuint(std::uint64_t value) {
  ByteWriter out;
  out.write_varuint(value);
  return std::move(out).take();
}

// UTF-16LE bytes of code units.
std::vector<std::uint8_t> units(std::u16string_view text) {
  ByteWriter out;
  for (const char16_t unit : text) out.write(unit);
  return std::move(out).take();
}

TEST(ByteReader, ReadsWhatWasWritten) {
  ByteWriter out;
  out.write(std::uint8_t{7});
  out.write(std::int64_t{-2});
  out.put("abc");
  ByteReader in{out.bytes()};
  EXPECT_EQ(in.read<std::uint8_t>(), 7);
  EXPECT_EQ(in.read<std::int64_t>(), -2);
  EXPECT_EQ(as_text(in.take(3)), "abc");
  EXPECT_TRUE(in.ok());
  EXPECT_TRUE(in.at_end());
}

TEST(ByteReader, ReadsLittleEndian) {
  ByteReader in{as_bytes("\x01\x02\x00\x00"sv)};
  EXPECT_EQ(in.read<std::uint32_t>(), 0x201U);
}

TEST(ByteReader, ReturnsZerosAndStaysFailedAfterAShortRead) {
  ByteReader in{as_bytes("\xff\xff\xff"sv)};
  EXPECT_EQ(in.read<std::uint32_t>(), 0U);
  EXPECT_FALSE(in.ok());
  EXPECT_EQ(in.read<std::uint8_t>(), 0);  // though a byte was there before
  EXPECT_EQ(in.remaining(), 0U);
}

TEST(ByteReader, RefusesASizeBeyondTheEnd) {
  ByteReader in{as_bytes("abc")};
  EXPECT_TRUE(in.take(std::numeric_limits<std::size_t>::max()).empty());
  EXPECT_FALSE(in.ok());
}

TEST(ByteReader, SkipsAndGivesTheRest) {
  ByteReader in{as_bytes("abcdef")};
  in.skip(2);
  EXPECT_EQ(in.offset(), 2U);
  EXPECT_EQ(as_text(in.rest()), "cdef");
  EXPECT_TRUE(in.ok());
}

TEST(ByteReader, ReadsVaruintsOfEveryLength) {
  for (unsigned bits = 0; bits < 64; ++bits) {
    const auto value = (std::uint64_t{1} << bits) | 1;
    const auto bytes = varuint(value);
    EXPECT_EQ(bytes.size(), bits / 7 + 1);
    ByteReader in{bytes};
    EXPECT_EQ(in.read_varuint(), value);
    EXPECT_TRUE(in.ok() && in.at_end());
  }
}

TEST(ByteReader, ReadsTheLargestVaruint) {
  const auto bytes = varuint(~std::uint64_t{0});
  ByteReader in{bytes};
  EXPECT_EQ(in.read_varuint(), ~std::uint64_t{0});
}

TEST(ByteReader, RefusesAVaruintOfMoreThan64Bits) {
  ByteReader eleven{as_bytes("\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01"sv)};
  EXPECT_EQ(eleven.read_varuint(), 0U);
  EXPECT_FALSE(eleven.ok());
  ByteReader bit_64{as_bytes("\x80\x80\x80\x80\x80\x80\x80\x80\x80\x02"sv)};
  EXPECT_EQ(bit_64.read_varuint(), 0U);
  EXPECT_FALSE(bit_64.ok());
}

TEST(ByteReader, GivesZeroForAVaruintThatIsCutShort) {
  ByteReader in{as_bytes("\x85\x80"sv)};
  EXPECT_EQ(in.read_varuint(), 0U);
  EXPECT_FALSE(in.ok());
}

TEST(ByteReader, TakesUtf16UpToItsZero) {
  const auto bytes = units(std::u16string_view{u"hé\0x", 4});
  ByteReader in{bytes};
  EXPECT_EQ(utf8_of(in.take_utf16z()), "hé");
  EXPECT_EQ(in.remaining(), 2U);
}

TEST(ByteReader, TakesUtf16AtAnOddOffset) {
  std::vector<std::uint8_t> bytes{0xaa};
  for (const auto byte : units(std::u16string_view{u"a\0", 2})) bytes.push_back(byte);
  ByteReader in{bytes};
  in.skip(1);
  EXPECT_EQ(utf8_of(in.take_utf16z()), "a");
  EXPECT_TRUE(in.at_end());
}

TEST(ByteReader, DoesNotTakeZerosThatStraddleTwoUnitsForTheEnd) {
  ByteReader in{as_bytes("\x61\x00\x00\x62\x00\x00"sv)};  // 'a', U+6200, end
  EXPECT_EQ(in.take_utf16z().size(), 4U);
}

TEST(ByteReader, FailsOnUtf16WithoutAnEnd) {
  ByteReader in{as_bytes("a\0b"sv)};
  EXPECT_TRUE(in.take_utf16z().empty());
  EXPECT_FALSE(in.ok());
}

TEST(ByteWriter, PatchesASizeThatIsKnownLate) {
  ByteWriter out;
  out.write(std::uint32_t{0});
  out.put("abc");
  out.patch(0, static_cast<std::uint32_t>(out.size()));
  ByteReader in{out.bytes()};
  EXPECT_EQ(in.read<std::uint32_t>(), 7U);
}

TEST(Utf, ConvertsEveryPlaneBothWays) {
  const std::string text = "a\x7fß€\xed\x9f\xbf\xee\x80\x80😀\xf4\x8f\xbf\xbf";
  EXPECT_EQ(utf8_of(units(utf16_of(text))), text);
}

TEST(Utf, MakesSurrogatePairs) {
  EXPECT_EQ(utf16_of("😀"), u"\xd83d\xde00");
  EXPECT_EQ(utf8_of(units(u"\xd83d\xde00")), "😀");
}

TEST(Utf, TakesAsciiAndOtherTextInAnyMixture) {
  for (std::size_t before = 0; before < 140; ++before) {
    std::u16string utf16(before, u'a');
    std::string utf8(before, 'a');
    utf16 += u"\u00e9z\u4e16";
    utf8 += "\xc3\xa9z\xe4\xb8\x96";
    utf16.append(5, u'b');
    utf8.append(5, 'b');
    const auto* bytes = reinterpret_cast<const std::uint8_t*>(utf16.data());
    EXPECT_EQ(utf8_of({bytes, utf16.size() * 2}), utf8) << before;
  }
}

TEST(Utf, ReplacesLoneSurrogates) {
  const char16_t high_first[] = {0xd83d, u'x'};
  const char16_t low_first[] = {0xde00, u'x'};
  const char16_t high_last[] = {u'x', 0xd83d};
  EXPECT_EQ(utf8_of(units({high_first, 2})), "\uFFFDx");
  EXPECT_EQ(utf8_of(units({low_first, 2})), "\uFFFDx");
  EXPECT_EQ(utf8_of(units({high_last, 2})), "x\uFFFD");
}

TEST(Utf, IgnoresAnOddTail) { EXPECT_EQ(utf8_of(as_bytes("a\0b"sv)), "a"); }

TEST(Utf, ReplacesBrokenUtf8AndGoesOn) {
  EXPECT_EQ(utf16_of("\x80x"), u"\xfffdx");              // a continuation without a start
  EXPECT_EQ(utf16_of("\xc3x"), u"\xfffdx");              // a start without its continuation
  EXPECT_EQ(utf16_of("x\xe2\x82"), u"x\xfffd\xfffd");    // cut short at the end
  EXPECT_EQ(utf16_of("\xc0\xaf"), u"\xfffd\xfffd");      // overlong '/'
  EXPECT_EQ(utf16_of("\xe0\x80\xaf"), u"\xfffd");        // overlong, three bytes
  EXPECT_EQ(utf16_of("\xed\xa0\x80"), u"\xfffd");        // a surrogate
  EXPECT_EQ(utf16_of("\xf4\x90\x80\x80y"), u"\xfffdy");  // beyond U+10FFFF
}

}  // namespace
}  // namespace clrscope
