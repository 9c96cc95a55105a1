#include "inspect/core_image.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "inspect/test_core.h"

namespace clrscope::inspect {
namespace {

TestCore small_core() {
  TestCore core;
  core.add_process(77, "shop");
  user_regs_struct user{};
  user.rip = 0x5002;
  user.rsp = 0x9100;
  user.r15 = 15;
  user.orig_rax = 202;
  core.add_thread(77, user);
  user.rip = 0x5010;
  core.add_thread(78, user);
  core.add_files({{0x5000, 0x7000, 0x2000, "/lib/x.so"}, {0xa000, 0xb000, 0, "/lib/y.so"}});
  core.add_memory(0x5000, "\x0f\x05" + std::string(0x0ffe, 'c'), PF_R | PF_X);
  core.add_memory(0x9000, std::string(0x1000, 's'));
  core.add_memory(0xc000, "", PF_R, 0x1000);
  return core;
}

struct Parsed {
  std::vector<std::uint8_t> bytes;
  Result<CoreImage> image;
};
std::unique_ptr<Parsed> parsed(std::vector<std::uint8_t> bytes) {
  auto core = std::make_unique<Parsed>(Parsed{std::move(bytes), fail(Errc::kCorrupt, "")});
  core->image = CoreImage::parse(reader_of(core->bytes), core->bytes.size());
  return core;
}

TEST(CoreImage, HasThreadsWithAllRegisters) {
  const auto core = parsed(small_core().bytes());
  ASSERT_TRUE(core->image.has_value()) << core->image.error().what;
  const auto& notes = core->image->notes();
  EXPECT_EQ(notes.pid, 77);
  ASSERT_EQ(notes.threads.size(), 2U);
  EXPECT_EQ(notes.threads[0].name, "shop");
  EXPECT_EQ(notes.threads[1].name, "");
  EXPECT_EQ(notes.threads[1].tid, 78);
  EXPECT_EQ(notes.threads[0].state, '?');
  EXPECT_EQ(notes.threads[0].cpu, std::chrono::milliseconds{3500});
  EXPECT_EQ(notes.threads[0].registers[unwind::kR15], 15U);
  EXPECT_EQ(notes.threads[0].registers[unwind::kRsp], 0x9100U);
}

TEST(CoreImage, BelievesASystemCallOnlyBehindItsInstruction) {
  const auto core = parsed(small_core().bytes());
  ASSERT_TRUE(core->image.has_value());
  EXPECT_EQ(core->image->notes().threads[0].syscall, 202);
  EXPECT_FALSE(core->image->notes().threads[1].syscall.has_value());
}

TEST(CoreImage, ReadsMemoryUpToAGap) {
  const auto core = parsed(small_core().bytes());
  std::vector<std::uint8_t> out(0x2000);
  EXPECT_EQ(core->image->read(0x9f00, out), 0x100U);
  EXPECT_EQ(out[0], 's');
  EXPECT_EQ(core->image->read(0x8fff, out), 0U);
  EXPECT_EQ(core->image->read(0xc000, out), 0U);
  EXPECT_EQ(core->image->gap_at(0x6000), 0x3000U);
  EXPECT_EQ(core->image->gap_at(0x5fff), 0U);
}

TEST(CoreImage, HasMappingsOfFilesAndOfMemory) {
  const auto mappings = parsed(small_core().bytes())->image->mappings();
  ASSERT_EQ(mappings.size(), 4U);
  EXPECT_EQ(mappings[0].path, "/lib/x.so");
  EXPECT_EQ(mappings[0].file_offset, 0x2000U);
  EXPECT_TRUE(mappings[0].executable && !mappings[0].writable);
  EXPECT_EQ(mappings[1].path, "");
  EXPECT_TRUE(mappings[1].writable);
  EXPECT_EQ(mappings[2].path, "/lib/y.so");
  EXPECT_EQ(mappings[3].end, 0xd000U);
}

TEST(CoreImage, TakesOffsetsOfFilesInTheUnitTheyAreIn) {
  TestCore core;
  core.add_files({{0x1000, 0x2000, 0x3000, "/a"}}, 1);
  core.add_memory(0x1000, "x");
  EXPECT_EQ(parsed(core.bytes())->image->mappings()[0].file_offset, 0x3000U);
}

TEST(CoreImage, SplitsASegmentThatHoldsFilesAndMore) {
  TestCore core;
  core.add_files({{0x2000, 0x3000, 0, "/a"}, {0x4000, 0x5000, 0, "/b"}});
  core.add_memory(0x1000, std::string(0x5000, 'x'), PF_R | PF_X);
  const auto mappings = parsed(core.bytes())->image->mappings();
  ASSERT_EQ(mappings.size(), 5U);
  for (std::size_t i = 0; i < 5; ++i) {
    EXPECT_EQ(mappings[i].start, 0x1000 * (i + 1));
    EXPECT_EQ(mappings[i].end, 0x1000 * (i + 2));
    EXPECT_TRUE(mappings[i].executable);
  }
}

TEST(CoreImage, IsReadUpToWhereItIsCut) {
  auto bytes = small_core().bytes();
  ASSERT_GT(bytes.size(), 0x800U);
  bytes.erase(bytes.end() - 0x800, bytes.end());
  const auto core = parsed(bytes);
  ASSERT_TRUE(core->image.has_value());
  EXPECT_GT(core->image->promised(), core->image->size());
  std::vector<std::uint8_t> out(0x1000);
  EXPECT_EQ(core->image->read(0x9000, out), 0x800U);
  EXPECT_TRUE(core->image->mappings()[1].writable);
}

TEST(CoreImage, RefusesWhatIsNone) {
  auto bytes = small_core().bytes();
  bytes[16] = ET_DYN;
  EXPECT_EQ(parsed(bytes)->image.error().code, Errc::kUnsupported);
  bytes[0] = 'x';
  EXPECT_EQ(parsed(bytes)->image.error().code, Errc::kCorrupt);
  EXPECT_EQ(parsed({})->image.error().code, Errc::kCorrupt);
}

TEST(CoreImage, SurvivesEveryCut) {
  const auto bytes = small_core().bytes();
  for (std::size_t size = 0; size < 2500; ++size) {
    const auto core = parsed({bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size)});
    if (core->image) (void)core->image->mappings();
  }
}

}  // namespace
}  // namespace clrscope::inspect
