#include "symbols/portable_pdb.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "base/test_data.h"
#include "symbols/il_map.h"
#include "symbols/pdb_file.h"

namespace clrscope {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;

// What tests/data/pdb/ made.
const std::string kModule = test_data("fuzz/pdb/shop.dll");
const std::string kPdb = test_data("fuzz/pdb/shop.pdb");
const std::string kEmbedded = test_data("fuzz/pdb/embedded.dll");
constexpr const char* kSource = "/_/shop/Shop.cs";

std::vector<std::uint8_t> bytes_of(const std::string& path) {
  std::ifstream in{path, std::ios::binary};
  return {std::istreambuf_iterator<char>{in}, {}};
}

std::uint32_t method_on_line(const PortablePdb& pdb, std::uint32_t line) {
  for (std::uint32_t row = 1; row <= pdb.method_count(); ++row)
    for (const auto& point : pdb.points(0x06000000 | row))
      if (point.line == line) return 0x06000000 | row;
  return 0;
}

std::vector<std::uint32_t> lines_of(const PortablePdb& pdb, std::uint32_t token) {
  std::vector<std::uint32_t> lines;
  for (const auto& point : pdb.points(token)) lines.push_back(point.hidden() ? 0 : point.line);
  return lines;
}

class PortablePdbTest : public testing::Test {
 protected:
  const std::vector<std::uint8_t> bytes_ = bytes_of(kPdb);
  const PortablePdb pdb_ = PortablePdb::parse(bytes_).value();
};

TEST_F(PortablePdbTest, NamesTheLineOfAnIlOffset) {
  const auto total = method_on_line(pdb_, 12);
  EXPECT_EQ(pdb_.line_of(total, 0), (SourceLine{kSource, 12}));
  const auto points = pdb_.points(total);
  const auto added = std::find_if(points.begin(), points.end(),
                                  [](const SequencePoint& p) { return p.line == 15; });
  ASSERT_NE(added, points.end());
  EXPECT_EQ(pdb_.line_of(total, added->il_offset), (SourceLine{kSource, 15}));
  EXPECT_EQ(pdb_.line_of(total, added->il_offset + 1), (SourceLine{kSource, 15}));
  EXPECT_EQ(added->column, 13u);
  EXPECT_EQ(added->end_column, 26u);
}

TEST_F(PortablePdbTest, CountsHiddenCodeToTheStatementBeforeIt) {
  const auto generated = method_on_line(pdb_, 100);
  EXPECT_THAT(lines_of(pdb_, generated), ElementsAre(29, 100, 0, 35));
  const auto hidden = pdb_.points(generated)[2];
  EXPECT_EQ(pdb_.line_of(generated, hidden.il_offset)->line, 100u);
}

TEST_F(PortablePdbTest, FollowsAMethodIntoAnotherDocument) {
  const auto generated = method_on_line(pdb_, 100);
  const auto points = pdb_.points(generated);
  EXPECT_EQ(pdb_.line_of(generated, points[0].il_offset)->file, kSource);
  EXPECT_THAT(pdb_.line_of(generated, points[1].il_offset)->file, HasSubstr("Made/Elsewhere.cs"));
  EXPECT_EQ(pdb_.line_of(generated, points[3].il_offset)->file, kSource);
}

TEST_F(PortablePdbTest, KnowsNothingOfOtherTokens) {
  EXPECT_FALSE(pdb_.line_of(0x06000000, 0));
  EXPECT_FALSE(pdb_.line_of(0x06ffffff, 0));
  EXPECT_FALSE(pdb_.line_of(0x02000001, 0));
}

TEST_F(PortablePdbTest, RefusesWhatIsCutShort) {
  for (const std::size_t size : {0, 3, 20, 100, 200})
    EXPECT_FALSE(PortablePdb::parse(Bytes{bytes_}.first(size))) << size;
  EXPECT_FALSE(PortablePdb::parse(bytes_of(kModule)));
}

class FindPdbTest : public testing::Test {
 protected:
  FindPdbTest() { fs::create_directories(folder_ / "app"), fs::create_directories(symbols_); }
  ~FindPdbTest() override { fs::remove_all(folder_); }

  std::string found(const std::string& module_path, const DebugFolders& folders = {}) {
    const auto pdb = find_pdb(bytes_of(kModule), module_path, folders);
    return pdb ? pdb->where() : pdb.error().what;
  }

  fs::path folder_ = fs::path{testing::TempDir()} / ("find_pdb_" + std::to_string(::getpid()));
  fs::path symbols_ = folder_ / "symbols";
  std::string module_ = folder_ / "app/Shop.dll";
};

TEST_F(FindPdbTest, FindsItBesideTheModule) {
  fs::copy_file(kPdb, folder_ / "app/Shop.pdb");
  EXPECT_EQ(found(module_), folder_ / "app/Shop.pdb");
}

TEST_F(FindPdbTest, FindsItBesideTheModuleInAContainer) {
  fs::copy_file(kPdb, folder_ / "app/Shop.pdb");
  EXPECT_EQ(found("/app/Shop.dll", {.root = folder_}), folder_ / "app/Shop.pdb");
}

TEST_F(FindPdbTest, FindsItInTheFolderOfSymbols) {
  fs::copy_file(kPdb, symbols_ / "Shop.pdb");
  EXPECT_EQ(found("/gone/Shop.dll", {.symbol_folder = symbols_}), symbols_ / "Shop.pdb");
}

TEST_F(FindPdbTest, FindsItWhereSymbolServersPutIt) {
  const auto data = bytes_of(kModule);
  const auto wanted = pdb_reference(PeFile::parse_any(data).value());
  ASSERT_TRUE(wanted);
  const auto& g = wanted->guid;
  std::string key;
  for (const int i : {3, 2, 1, 0, 5, 4, 7, 6, 8, 9, 10, 11, 12, 13, 14, 15})
    key += fmt::format("{:02x}", g[static_cast<std::size_t>(i)]);
  const auto place = symbols_ / "Shop.pdb" / (key + "ffffffff");
  fs::create_directories(place);
  fs::copy_file(kPdb, place / "Shop.pdb");
  EXPECT_EQ(found("/gone/Shop.dll", {.symbol_folder = symbols_}), place / "Shop.pdb");
}

TEST_F(FindPdbTest, LeavesThePdbOfAnotherBuildAlone) {
  auto other = bytes_of(kPdb);
  const auto id = PortablePdb::parse(other)->id();
  const auto at = std::search(other.begin(), other.end(), id.begin(), id.end());
  ASSERT_NE(at, other.end());
  at[18] ^= 1;  // in the stamp: the GUID is the same
  std::ofstream{folder_ / "app/Shop.pdb", std::ios::binary}.write(
      reinterpret_cast<const char*>(other.data()), static_cast<std::streamsize>(other.size()));
  EXPECT_THAT(found(module_), HasSubstr("from another build"));
}

TEST_F(FindPdbTest, TakesTheOneInsideTheModule) {
  const auto pdb = find_pdb(bytes_of(kEmbedded), module_, {});
  ASSERT_TRUE(pdb) << pdb.error().what;
  EXPECT_EQ(pdb->where(), module_);
  EXPECT_EQ(pdb->pdb().line_of(method_on_line(pdb->pdb(), 12), 0), (SourceLine{kSource, 12}));
}

TEST_F(FindPdbTest, SaysWhatIsMissing) {
  const auto pdb = find_pdb(bytes_of(kModule), module_, {});
  ASSERT_FALSE(pdb);
  EXPECT_THAT(pdb.error().what, HasSubstr("no PDB for " + module_));
  EXPECT_THAT(pdb.error().hint, HasSubstr("Shop.pdb"));
}

TEST(IlMap, FindsTheIlOfMachineCode) {
  const IlMap map{{{20, 8}, {0, IlMap::kPrologue}, {5, 0}, {12, 3}, {30, IlMap::kEpilogue}}};
  EXPECT_EQ(map.il_offset(0), 0u);
  EXPECT_EQ(map.il_offset(13), 3u);
  EXPECT_EQ(map.il_offset(25), 8u);
  EXPECT_EQ(map.il_offset(31), 8u);  // an epilogue counts to what comes before it
}

TEST(IlMap, TakesTheLastOfSeveralAtOnePlace) {
  const IlMap map{{{0, 0}, {8, 4}, {8, 6}, {12, IlMap::kNoMapping}}};
  EXPECT_EQ(map.il_offset(8), 6u);
  EXPECT_EQ(IlMap{}.il_offset(0), std::nullopt);
}

}  // namespace
}  // namespace clrscope
