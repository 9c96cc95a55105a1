#include "symbols/dwarf_lines.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/test_data.h"
#include "symbols/native_file.h"
#include "symbols/source_lines.h"

namespace clrscope {
namespace {

// What tests/data/dwarf/ made.
const std::string kFolder = test_data("fuzz/dwarf/");

struct Opened {
  explicit Opened(const std::string& name)
      : file(NativeFile::open(kFolder + name).value()),
        elf(ElfFile::parse(file.bytes()).value()),
        lines(DwarfLines::of(elf).value()) {}
  std::uint64_t function(std::string_view name) const {
    for (const auto& symbol : elf.symbols())
      if (symbol.name == name) return symbol.value;
    return 0;
  }
  NativeFile file;
  ElfFile elf;
  DwarfLines lines;
};

class DwarfLinesTest : public testing::TestWithParam<const char*> {};

TEST_P(DwarfLinesTest, NamesTheLineOfAnAddress) {
  const Opened opened{GetParam()};
  const auto twice = opened.function("twice");
  ASSERT_NE(twice, 0u);
  const auto place = opened.lines.find(twice);
  ASSERT_TRUE(place);
  EXPECT_TRUE(place->file.ends_with("shop.c")) << place->file;
  EXPECT_EQ(place->line, 2u);
  const auto made = opened.lines.find(opened.function("half"));
  ASSERT_TRUE(made);
  EXPECT_TRUE(made->file.ends_with("made/elsewhere.c")) << made->file;
  EXPECT_EQ(made->line, 100u);
  EXPECT_EQ(opened.lines.damaged(), 0u);
}

TEST_P(DwarfLinesTest, AnswersAsItsRowsDo) {
  const Opened opened{GetParam()};
  const auto rows = opened.lines.rows();
  ASSERT_GT(rows.size(), 10u);
  for (std::size_t i = 0; i + 1 < rows.size(); ++i) {
    if (rows[i].end || rows[i].vaddr == rows[i + 1].vaddr) continue;
    const auto place = opened.lines.find(rows[i + 1].vaddr - 1);
    ASSERT_TRUE(place) << rows[i].vaddr;
    EXPECT_EQ(place->line, rows[i].line);
    EXPECT_EQ(place->file, rows[i].file);
  }
}

TEST_P(DwarfLinesTest, KnowsNothingOutsideItsCode) {
  const Opened opened{GetParam()};
  const auto rows = opened.lines.rows();
  const auto last = std::max_element(rows.begin(), rows.end(),
                                     [](auto& a, auto& b) { return a.vaddr < b.vaddr; });
  EXPECT_FALSE(opened.lines.find(0));
  EXPECT_FALSE(opened.lines.find(last->vaddr));
  EXPECT_FALSE(opened.lines.find(~0ULL));
}

INSTANTIATE_TEST_SUITE_P(Versions, DwarfLinesTest,
                         testing::Values("v2.so", "v3.so", "v4.so", "v5.so", "zlib.so"));

TEST(DwarfLines, GivesWholePathsInVersion5) {
  const Opened opened{"v5.so"};
  EXPECT_EQ(opened.lines.find(opened.function("main"))->file, "/_/shop/shop.c");
  EXPECT_EQ(opened.lines.find(opened.function("half"))->file, "/_/shop/made/elsewhere.c");
}

TEST(DwarfLines, LeavesADamagedProgramAndReadsTheNext) {
  const Opened opened{"v4.so"};
  const auto whole = opened.elf.section(".debug_line")->bytes;
  std::vector<std::uint8_t> bytes{8, 0, 0, 0, 77, 0, 1, 2, 3, 4, 5, 6};  // of version 77
  bytes.insert(bytes.end(), whole.begin(), whole.end());
  const DwarfLines lines{{.line = bytes}};
  EXPECT_EQ(lines.damaged(), 1u);
  EXPECT_EQ(lines.find(opened.function("twice"))->line, 2u);
}

TEST(DwarfLines, StopsAtTheLimitOfRows) {
  const Opened opened{"v4.so"};
  const auto whole = opened.elf.section(".debug_line")->bytes;
  std::vector<std::uint8_t> twice{whole.begin(), whole.end()};
  twice.insert(twice.end(), whole.begin(), whole.end());
  EXPECT_TRUE((DwarfLines{{.line = twice}}.find(opened.function("twice"))));
  // The first program uses it up, so the second one is not read.
  EXPECT_FALSE((DwarfLines{{.line = twice}, 1}.find(opened.function("twice"))));
}

TEST(DwarfLines, AreNotInAFileWithoutThem) {
  const auto file = NativeFile::open(test_data("fuzz/elf/push")).value();
  EXPECT_FALSE(DwarfLines::of(ElfFile::parse(file.bytes()).value()));
}

TEST(SourceLines, FindsNativeLinesOfTheSameBuildOnly) {
  const Opened opened{"v5.so"};
  const auto vaddr = opened.function("main");
  const auto segment = std::find_if(
      opened.elf.segments().begin(), opened.elf.segments().end(),
      [&](auto& s) { return s.type == 1 && vaddr >= s.vaddr && vaddr - s.vaddr < s.file_size; });
  ASSERT_NE(segment, opened.elf.segments().end());
  const auto offset = vaddr - segment->vaddr + segment->offset;
  SourceLines lines;
  EXPECT_EQ(lines.of_native(kFolder + "v5.so", opened.elf.build_id(), offset)->line, 14u);
  EXPECT_EQ(lines.of_native(kFolder + "v5.so", "", offset)->line, 14u);
  EXPECT_FALSE(lines.of_native(kFolder + "v5.so", "00ff", offset));
  EXPECT_FALSE(lines.of_native("/no/such/file.so", "", offset));
}

}  // namespace
}  // namespace clrscope
