#include "unwind/r2r_table.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "symbols/native_file.h"

namespace clrscope::unwind {
namespace {

std::string corelib_path() {
  namespace fs = std::filesystem;
  for (const char* root : {"/usr/share/dotnet", "/usr/lib/dotnet"}) {
    std::error_code ignored;
    for (const auto& version :
         fs::directory_iterator{fs::path{root} / "shared/Microsoft.NETCore.App", ignored})
      if (const auto path = version.path() / "System.Private.CoreLib.dll"; fs::exists(path))
        return path.string();
  }
  return {};
}

// push rbp (1), push r15 (3), push rbx (4), sub rsp 16 (8), as crossgen writes it.
constexpr std::uint8_t kFourDeeds[] = {0x19, 8, 4, 0, 8, 0x12, 4, 0x30, 3, 0xf0, 1, 0x50};

TEST(UnwindCodes, GrowTheFrameInstructionByInstruction) {
  const auto at = [](std::uint64_t offset) { return *rule_of_unwind_codes(kFourDeeds, offset); };
  EXPECT_EQ(at(0).cfa_offset, 8);
  EXPECT_EQ(at(0).of(kRbp).kind(), Saved::kSame);
  EXPECT_EQ(at(1).cfa_offset, 16);
  EXPECT_EQ(at(1).of(kRbp), RegRule(Saved::kAtCfa, -16));
  EXPECT_EQ(at(2).cfa_offset, 16);
  EXPECT_EQ(at(3).of(kR15), RegRule(Saved::kAtCfa, -24));
  EXPECT_EQ(at(8).cfa_offset, 48);
  EXPECT_EQ(at(100).of(kRbx), RegRule(Saved::kAtCfa, -32));
  EXPECT_EQ(at(100).of(kRip), RegRule(Saved::kAtCfa, -8));
}

TEST(UnwindCodes, CountFromTheFrameRegisterOnceItIsSet) {
  // push rbp (1), sub rsp 32 (5), lea rbp, [rsp + 32] (10)
  const std::uint8_t info[] = {0x19, 10, 3, 0x25, 10, 0x03, 5, 0x32, 1, 0x50};
  const auto rule = rule_of_unwind_codes(info, 10);
  ASSERT_TRUE(rule);
  EXPECT_EQ(rule->cfa_register, kRbp);
  EXPECT_EQ(rule->cfa_offset, 16);
}

TEST(UnwindCodes, AreRefusedWhenCutShort) {
  for (std::size_t size = 0; size < sizeof kFourDeeds; ++size)
    EXPECT_FALSE(rule_of_unwind_codes(Bytes{kFourDeeds}.first(size), 0)) << size;
}

TEST(R2rTable, KnowsEveryFunctionOfTheCoreLibrary) {
  const auto path = corelib_path();
  if (path.empty()) GTEST_SKIP() << "no .NET runtime is installed";
  const auto file = NativeFile::open(path);
  ASSERT_TRUE(file) << file.error().what;
  const auto image = PeFile::parse(file->bytes());
  ASSERT_TRUE(image) << image.error().what;
  const auto table = make_r2r_table(*image);
  EXPECT_EQ(table.damaged(), 0u);
  const auto directory = image->exceptions();
  ByteReader in{image->bytes_at(directory.rva).first(directory.size)};
  std::size_t functions = 0;
  while (in.remaining() >= 12) {
    const auto begin = in.read<std::uint32_t>();
    const auto end = in.read<std::uint32_t>();
    const auto info = image->bytes_at(in.read<std::uint32_t>());
    ++functions;
    for (const auto address : {begin, begin + 1, begin + (end - begin) / 2, end - 1}) {
      if (address >= end) continue;
      const auto* rule = table.find(address);
      ASSERT_NE(rule, nullptr) << std::hex << address;
      ASSERT_EQ(*rule, *rule_of_unwind_codes(info, address - begin)) << std::hex << address;
    }
  }
  EXPECT_GT(functions, 10000u);
}

TEST(R2rTable, MadeForAFewAddressesSaysThereWhatTheWholeOneSays) {
  const auto path = corelib_path();
  if (path.empty()) GTEST_SKIP() << "no .NET runtime is installed";
  const auto file = NativeFile::open(path);
  ASSERT_TRUE(file) << file.error().what;
  const auto image = PeFile::parse(file->bytes());
  ASSERT_TRUE(image) << image.error().what;
  const auto whole = make_r2r_table(*image);
  std::vector<std::uint64_t> wanted;
  for (std::size_t i = 0; i < whole.rows().size(); i += 97)
    wanted.push_back(whole.base() + whole.rows()[i].address + 1);
  const auto part = make_r2r_table(*image, wanted);
  EXPECT_LT(part.rows().size(), whole.rows().size() / 2);
  for (const auto rva : wanted) {
    const auto* expected = whole.find(rva);
    const auto* found = part.find(rva);
    ASSERT_EQ(found != nullptr, expected != nullptr) << std::hex << rva;
    if (!found) continue;
    ASSERT_EQ(*found, *expected) << std::hex << rva;
  }
}

TEST(R2rTable, MadeOfTheTablesOfAFileSaysWhatThatOfTheWholeFileSays) {
  const auto path = corelib_path();
  if (path.empty()) GTEST_SKIP() << "no .NET runtime is installed";
  const auto all = NativeFile::open(path);
  const auto tables = NativeFile::open_tables(path, NativeFile::Tables::kFrames);
  ASSERT_TRUE(all && tables);
  ASSERT_FALSE(std::ranges::equal(all->bytes(), tables->bytes())) << "code was left out";
  const auto whole = make_r2r_table(*PeFile::parse(all->bytes()));
  const auto made = make_r2r_table(*PeFile::parse(tables->bytes()));
  EXPECT_EQ(made.damaged(), 0U);
  ASSERT_EQ(made.rows().size(), whole.rows().size());
  for (const auto& row : whole.rows()) {
    const auto* expected = whole.find(row.address);
    const auto* found = made.find(row.address);
    ASSERT_EQ(found != nullptr, expected != nullptr) << std::hex << row.address;
    if (!found) continue;
    ASSERT_EQ(*found, *expected) << std::hex << row.address;
  }
}

TEST(PeFile, MapsAPageBeforeTheFirstSection) {
  const auto path = corelib_path();
  if (path.empty()) GTEST_SKIP() << "no .NET runtime is installed";
  const auto file = NativeFile::open(path);
  ASSERT_TRUE(file) << file.error().what;
  const auto image = PeFile::parse(file->bytes());
  ASSERT_TRUE(image) << image.error().what;
  const auto& text = image->sections().front();
  EXPECT_EQ(image->rva_of_offset(text.file_offset), text.rva);
  EXPECT_EQ(image->rva_of_offset(0), text.rva - text.file_offset % 4096);
}

TEST(PeFile, RefusesWhatIsNone) {
  EXPECT_FALSE(PeFile::parse(as_bytes("MZ")));
  EXPECT_FALSE(PeFile::parse(as_bytes(std::string_view{})));
}

}  // namespace
}  // namespace clrscope::unwind
