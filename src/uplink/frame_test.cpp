#include "uplink/frame.h"

#include <gtest/gtest.h>

namespace clrscope::uplink {
namespace {

std::vector<std::string> read_all(std::string_view bytes, std::size_t piece,
                                  std::uint64_t* damaged = nullptr) {
  FrameReader reader;
  std::vector<std::string> found;
  while (!bytes.empty()) {
    reader.feed(bytes.substr(0, piece));
    bytes.remove_prefix(std::min(piece, bytes.size()));
    while (auto frame = reader.next()) found.push_back(std::move(frame->payload));
  }
  if (damaged != nullptr) *damaged = reader.damaged();
  return found;
}

const std::vector<std::string> kTexts{"one", "", std::string(100'000, 'x'), "CLRF in the text"};

std::string stream() {
  std::string bytes;
  for (const auto& text : kTexts) bytes += frame_of(FrameKind::kBatch, text);
  return bytes;
}

TEST(FrameReader, ReadsFramesHoweverTheyAreCut) {
  for (const std::size_t piece : {1UL, 7UL, 4096UL, 1'000'000UL})
    EXPECT_EQ(read_all(stream(), piece), kTexts);
}

TEST(FrameReader, SkipsADamagedFrameAndReadsTheNext) {
  auto bytes = stream();
  bytes[17] = '?';  // in the text of the first
  std::uint64_t damaged = 0;
  const auto found = read_all(bytes, 11, &damaged);
  EXPECT_EQ(found, std::vector<std::string>(kTexts.begin() + 1, kTexts.end()));
  EXPECT_EQ(damaged, 1U);
}

TEST(FrameReader, FindsTheFirstFrameAfterForeignBytes) {
  std::uint64_t damaged = 0;
  EXPECT_EQ(read_all("hello CLR CLRFCLRF" + stream(), 3, &damaged), kTexts);
  EXPECT_EQ(damaged, 1U);
}

TEST(FrameReader, DoesNotWaitForALengthBeyondTheLimit) {
  auto bytes = frame_of(FrameKind::kBatch, "one");
  bytes[11] = '\x7f';  // the highest byte of its length
  EXPECT_EQ(read_all(bytes + frame_of(FrameKind::kBatch, "two"), 100),
            std::vector<std::string>{"two"});
}

TEST(FrameReader, ReadsAFrameWithoutPayload) {
  FrameReader reader;
  reader.feed(frame_of(FrameKind::kEnd, {}));
  const auto frame = reader.next();
  ASSERT_TRUE(frame);
  EXPECT_EQ(frame->kind, FrameKind::kEnd);
}

TEST(FrameReader, IgnoresKindsOfLaterVersions) {
  const auto later = frame_of(static_cast<FrameKind>(9), "later");
  std::uint64_t damaged = 0;
  EXPECT_EQ(read_all(later + frame_of(FrameKind::kBatch, "one"), 100, &damaged),
            std::vector<std::string>{"one"});
  EXPECT_EQ(damaged, 0U);
}

}  // namespace
}  // namespace clrscope::uplink
