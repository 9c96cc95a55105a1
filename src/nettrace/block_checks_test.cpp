#include "nettrace/block_checks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "nettrace/convert.h"
#include "nettrace/test_support.h"

namespace clrscope::nettrace {
namespace {

using ::testing::HasSubstr;

std::string converted(std::string_view trace) {
  std::string out;
  Converter converter{[&](Bytes bytes) -> Result<> {
    out += as_text(bytes);
    return {};
  }};
  EXPECT_TRUE(converter.feed(as_bytes(trace)));
  EXPECT_TRUE(converter.finish());
  return out;
}

struct ReadResult {
  Summary summary;
  std::vector<Damage> damage;
};

ReadResult read(std::string_view trace, std::size_t piece = std::string_view::npos) {
  Reader reader;
  EXPECT_TRUE(read_all(
      reader, trace, [](const Batch&) {}, piece));
  return {reader.summary(), {reader.damage().begin(), reader.damage().end()}};
}

// Where the content of the first block of a kind lies, and how long it is; zeros when there is
// none.
std::pair<std::size_t, std::size_t> find_block(std::string_view trace, BlockKind kind) {
  for (std::size_t at = 20; at < trace.size();) {
    const auto frame = next_v6_block(as_bytes(trace.substr(at)));
    if (frame.kind == kind) return {at + frame.content_begin, frame.content_size};
    at += frame.size;
  }
  return {};
}

TEST(BlockChecks, NoteAFlippedBitInTheAddressesOfAStack) {
  const auto whole = converted(trace_file("net10-v4.nettrace"));
  const auto stacks = find_block(whole, BlockKind::kStack).first;
  constexpr std::size_t kNumbers = 4 + 4 + 4;  // first, count, length of the first stack
  for (std::size_t bit = 0; bit < 64; ++bit) {
    auto trace = whole;
    auto& byte = trace[stacks + kNumbers + bit / 8];
    byte = static_cast<char>(byte ^ (1 << bit % 8));
    for (const std::size_t piece : {std::string_view::npos, std::size_t{100}}) {
      const auto seen = read(trace, piece);
      ASSERT_EQ(seen.summary.damaged, 1U);
      EXPECT_THAT(seen.damage[0].what, HasSubstr("fail their checksum"));
      EXPECT_EQ(seen.summary.skipped_bytes, 0U);
    }
  }
}

TEST(BlockChecks, NoteAFlippedBitInAnEvent) {
  auto trace = converted(trace_file("net10-v4.nettrace"));
  const auto [begin, size] = find_block(trace, BlockKind::kEvent);
  auto& last = trace[begin + size - 1];  // of a payload
  last = static_cast<char>(last ^ 0x10);
  EXPECT_EQ(read(trace).summary.damaged, 1U);
}

TEST(BlockChecks, AreSilentAboutWhatIsWholeOrCut) {
  const auto whole = converted(trace_file("net10-v4.nettrace"));
  EXPECT_EQ(read(whole).summary.damaged, 0U);
  for (const auto cut : {whole.size() - 4, whole.size() - 13, whole.size() / 2}) {
    const auto seen = read(std::string_view{whole}.substr(0, cut));
    EXPECT_EQ(seen.summary.damaged, 0U);
    EXPECT_TRUE(seen.summary.truncated);
  }
}

TEST(BlockChecks, DamageThatIsNotedAlreadyCountsOnce) {
  auto trace = converted(trace_file("net10-v4.nettrace"));
  const auto stacks = find_block(trace, BlockKind::kStack).first;
  trace[stacks + 8] = static_cast<char>(trace[stacks + 8] ^ 8);  // the length of a stack
  const auto damage = read(trace).damage;
  ASSERT_FALSE(damage.empty());
  for (const auto& one : damage)
    EXPECT_THAT(one.what, ::testing::Not(HasSubstr("fail their checksum")));
}

TEST(SourceDamage, OfACutTraceStaysToldWhenItIsConverted) {
  const auto original = trace_file("net10-v4.nettrace");
  const auto cut = std::string_view{original}.substr(0, original.size() / 2);
  const auto once = converted(cut);
  const auto twice = converted(once);
  for (const auto& trace : {once, twice}) {
    const auto seen = read(trace).summary;
    EXPECT_TRUE(seen.truncated);
    EXPECT_TRUE(seen.ended);
    EXPECT_EQ(seen.damaged, 0U);
    EXPECT_EQ(seen.events, read(cut).summary.events);
  }
}

TEST(SourceDamage, OfADamagedTraceStaysToldWhenItIsConverted) {
  auto original = trace_file("net10-v4.nettrace");
  original.replace(original.size() / 3, 200, 200, 'x');
  const auto before = read(original);
  ASSERT_GT(before.summary.damaged, 0U);
  const auto once = converted(original);
  for (const auto& trace : {once, converted(once)}) {
    const auto seen = read(trace);
    EXPECT_EQ(seen.summary.damaged, before.summary.damaged);
    EXPECT_EQ(seen.summary.skipped_bytes, before.summary.skipped_bytes);
    EXPECT_FALSE(seen.summary.truncated);
    ASSERT_EQ(seen.damage.size(), before.damage.size());
    EXPECT_EQ(seen.damage[0].offset, before.damage[0].offset);
    EXPECT_EQ(seen.damage[0].what,
              "in the trace that this one was made from: " + before.damage[0].what);
  }
}

TEST(SourceDamage, OfAWholeTraceIsNotWritten) {
  const auto whole = converted(trace_file("net10-v4.nettrace"));
  EXPECT_NE(find_block(whole, BlockKind::kCheck).first, 0U);
  EXPECT_EQ(find_block(whole, BlockKind::kSource).first, 0U);
}

}  // namespace
}  // namespace clrscope::nettrace
