#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "base/test_data.h"
#include "symbols/native_file.h"
#include "symbols/native_names.h"

namespace clrscope {
namespace {

namespace fs = std::filesystem;

// Two hand-made files of one build: one without sections, one with symbols.
const std::string kStripped = test_data("fuzz/elf/stripped");
const std::string kWithSymbols = test_data("fuzz/elf/push");
constexpr const char* kBuildId = "000102030405060708090a0b0c0d0e0f10111213";

class DebugFileTest : public testing::Test {
 protected:
  DebugFileTest() { fs::create_directories(folder_); }
  ~DebugFileTest() override { fs::remove_all(folder_); }

  std::string name_at(std::uint64_t vaddr) {
    const auto names = load_native_names(kStripped, {.symbol_folder = folder_.string()});
    return names ? names->name_at(vaddr) : names.error().what;
  }

  fs::path folder_ = fs::path{testing::TempDir()} / ("debug_file_" + std::to_string(::getpid()));
};

TEST_F(DebugFileTest, GivesNamesWhenItIsInTheSymbolFolder) {
  fs::copy_file(kWithSymbols, folder_ / (std::string{kBuildId} + ".debug"));
  EXPECT_EQ(name_at(0x1000), "main");
  EXPECT_EQ(name_at(0x1042), "shop::cart::add(int)");
}

TEST_F(DebugFileTest, IsFoundInAFolderOfBuildIds) {
  fs::create_directories(folder_ / ".build-id/00");
  fs::copy_file(kWithSymbols,
                folder_ / ".build-id/00" / (std::string{kBuildId}.substr(2) + ".debug"));
  EXPECT_EQ(name_at(0x1000), "main");
}

TEST_F(DebugFileTest, IsNotTakenWhenItIsOfAnotherBuild) {
  std::ifstream in{kWithSymbols, std::ios::binary};
  std::string bytes{std::istreambuf_iterator<char>{in}, {}};
  const auto note = bytes.find(std::string{"GNU\0\0\x01\x02", 7});
  ASSERT_NE(note, std::string::npos);
  bytes[note + 4] = 0x55;
  std::ofstream{folder_ / (std::string{kBuildId} + ".debug"), std::ios::binary} << bytes;
  EXPECT_EQ(name_at(0x1000), "fn_1000");
}

TEST_F(DebugFileTest, IsNotNeededForTheStartsOfFunctions) {
  EXPECT_EQ(name_at(0x103f), "fn_1000");
  EXPECT_EQ(name_at(0x1041), "fn_1040");
}

}  // namespace
}  // namespace clrscope
