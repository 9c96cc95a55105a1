#include "unwind/cfi_table.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>

#include "symbols/native_file.h"

namespace clrscope::unwind {
namespace {

// The file behind a mapping of this process.
std::string mapped_path(const std::string& name) {
  std::ifstream maps{"/proc/self/maps"};
  for (std::string line; std::getline(maps, line);) {
    const auto at = line.find('/');
    if (at != std::string::npos && line.find("/" + name) != std::string::npos)
      return line.substr(at);
  }
  return {};
}

std::string libcoreclr_path() {
  namespace fs = std::filesystem;
  for (const char* root : {"/usr/share/dotnet", "/usr/lib/dotnet"}) {
    std::error_code ignored;
    const fs::path runtimes = fs::path{root} / "shared/Microsoft.NETCore.App";
    for (const auto& version : fs::directory_iterator{runtimes, ignored})
      if (fs::exists(version.path() / "libcoreclr.so"))
        return (version.path() / "libcoreclr.so").string();
  }
  return {};
}

const char* name_of_register(int reg) {
  static constexpr const char* kNames[] = {"rax", "rdx", "rcx", "rbx", "rsi", "rdi",
                                           "rbp", "rsp", "r8",  "r9",  "r10", "r11",
                                           "r12", "r13", "r14", "r15", "ra"};
  return kNames[reg];
}

std::string signed_text(std::int64_t value) { return fmt::format("{:+}", value); }

// As readelf prints it.
std::string cfa_text(const UnwindRule& rule) {
  if (rule.cfa == UnwindRule::Cfa::kExpr) return "exp";
  return name_of_register(rule.cfa_register) + signed_text(rule.cfa_offset);
}

std::string saved_text(const RegRule& saved) {
  switch (saved.kind()) {
    case Saved::kSame:
    case Saved::kUndefined:
      return "u";
    case Saved::kAtCfa:
      return "c" + signed_text(saved.value());
    case Saved::kIsCfaPlus:
      return "v" + signed_text(saved.value());
    case Saved::kInRegister:
      return name_of_register(saved.value());
    case Saved::kAtExpr:
      return "exp";
    case Saved::kIsExpr:
      return "vexp";
  }
  return "?";
}

struct Pipe {
  explicit Pipe(const std::string& command) : file(::popen(command.c_str(), "r")) {}
  ~Pipe() { ::pclose(file); }
  std::FILE* file;
};

std::vector<std::string> words(const std::string& line) {
  std::istringstream in{line};
  std::vector<std::string> all;
  for (std::string word; in >> word;) all.push_back(word);
  return all;
}

struct Comparison {
  std::size_t rows = 0;
  std::size_t different = 0;
  std::size_t impossible_fdes = 0;  // with a CFA below rsp, which no frame has
  std::string first_difference;
};

// Every row of every FDE that readelf prints, against what the table finds there.
Comparison compare_with_readelf(const UnwindTable& table, const std::string& path) {
  Comparison result;
  Pipe pipe{"LC_ALL=C readelf --debug-dump=frames-interp '" + path + "' 2>/dev/null"};
  std::vector<std::string> columns;
  bool in_fde = false;
  bool impossible = false;
  unsigned long long end = 0;  // of the FDE: a row there says nothing
  char buffer[4096];
  while (std::fgets(buffer, sizeof buffer, pipe.file)) {
    const std::string line{buffer};
    const auto cells = words(line);
    if (cells.empty() || (cells.size() > 1 && cells[1] == "ZERO")) continue;
    if (cells.size() > 3 && (cells[3] == "FDE" || cells[3] == "CIE")) {
      in_fde = cells[3] == "FDE";
      columns.clear();
      impossible = false;
      const auto dots = line.find("..");
      if (in_fde && dots != std::string::npos)
        end = std::stoull(line.substr(dots + 2), nullptr, 16);
    } else if (cells[0] == "LOC") {
      columns = cells;
    } else if (in_fde && columns.size() == cells.size()) {
      const auto pc = std::stoull(cells[0], nullptr, 16);
      if (pc >= end) continue;
      ++result.rows;
      if (cells[1].starts_with("rsp-") && !std::exchange(impossible, true))
        ++result.impossible_fdes;
      const auto* rule = table.find(pc);
      std::string ours = rule ? cfa_text(*rule) : "nothing";
      std::string theirs = impossible ? "nothing" : cells[1];
      for (std::size_t i = 2; rule && i < cells.size(); ++i)
        for (std::size_t k = 0; k < kKept.size(); ++k)
          if (columns[i] == name_of_register(kKept[k])) {
            ours += " " + saved_text(rule->saved[k]);
            theirs += " " + (cells[i] == "s" ? "u" : cells[i]);
          }
      if (ours == theirs) continue;
      if (++result.different == 1)
        result.first_difference = fmt::format("at {:x}: ours {}, readelf {}", pc, ours, theirs);
    }
  }
  return result;
}

void expect_equal_to_readelf(const std::string& path, std::size_t least_rows) {
  if (path.empty() || std::system("command -v readelf >/dev/null 2>&1") != 0)
    GTEST_SKIP() << "the file or readelf is not here";
  const auto file = NativeFile::open(path);
  ASSERT_TRUE(file) << file.error().what;
  const auto elf = ElfFile::parse(file->bytes());
  ASSERT_TRUE(elf) << elf.error().what;
  const auto table = make_cfi_table(*elf);
  const auto compared = compare_with_readelf(table, path);
  EXPECT_EQ(table.damaged(), compared.impossible_fdes);
  EXPECT_GE(compared.rows, least_rows);
  EXPECT_EQ(compared.different, 0u) << "first " << compared.first_difference;
}

TEST(CfiTable, SaysOfLibcWhatReadelfSays) { expect_equal_to_readelf(mapped_path("libc.so"), 5000); }

TEST(CfiTable, SaysOfLibstdcxxWhatReadelfSays) {
  const std::string path = "/usr/lib/x86_64-linux-gnu/libstdc++.so.6";
  expect_equal_to_readelf(std::filesystem::exists(path) ? path : "", 5000);
}

TEST(CfiTable, SaysOfLibcoreclrWhatReadelfSays) {
  expect_equal_to_readelf(libcoreclr_path(), 5000);
}

// A hand-made .eh_frame: one CIE (rsp+8, ra at c-8), one FDE with the given program.
std::vector<std::uint8_t> section_with(std::initializer_list<std::uint8_t> program) {
  ByteWriter out;
  const std::uint8_t cie[] = {0,    0,  0, 0,    1,    'z', 'R', 0,    1,
                              0x78, 16, 1, 0x00, 0x0c, 7,   8,   0x90, 1};
  out.write(static_cast<std::uint32_t>(sizeof cie));
  out.put(Bytes{cie});
  const auto fde_at = out.size();
  out.write(std::uint32_t{0});
  out.write(static_cast<std::uint32_t>(fde_at + 4));  // back to the CIE at 0
  out.write(std::uint64_t{0x1000});
  out.write(std::uint64_t{0x100});
  out.write(std::uint8_t{0});
  for (const auto byte : program) out.write(byte);
  out.patch(fde_at, static_cast<std::uint32_t>(out.size() - fde_at - 4));
  return std::move(out).take();
}

TEST(CfiTable, MadeForAFewAddressesSaysThereWhatTheWholeOneSays) {
  const auto file = NativeFile::open(mapped_path("libc.so"));
  ASSERT_TRUE(file) << file.error().what;
  const auto elf = ElfFile::parse(file->bytes());
  ASSERT_TRUE(elf);
  const auto whole = make_cfi_table(*elf);
  std::vector<std::uint64_t> wanted;
  for (std::size_t i = 0; i < whole.rows().size(); i += 97)
    wanted.push_back(whole.base() + whole.rows()[i].address + 1);
  const auto part = make_cfi_table(*elf, wanted);
  EXPECT_LT(part.rows().size(), whole.rows().size() / 2);
  for (const auto vaddr : wanted) {
    const auto* expected = whole.find(vaddr);
    const auto* found = part.find(vaddr);
    ASSERT_EQ(found != nullptr, expected != nullptr) << std::hex << vaddr;
    if (!found || found->cfa == UnwindRule::Cfa::kExpr) continue;  // numbers of expressions differ
    ASSERT_EQ(*found, *expected) << std::hex << vaddr;
  }
}

TEST(CfiTable, KnowsNothingOutsideOfFunctions) {
  const auto section = section_with({});
  const auto table = make_cfi_table(ElfPiece{section, 0x5000});
  EXPECT_EQ(table.find(0xfff), nullptr);
  EXPECT_NE(table.find(0x1000), nullptr);
  EXPECT_NE(table.find(0x10ff), nullptr);
  EXPECT_EQ(table.find(0x1100), nullptr);
}

TEST(CfiTable, KeepsWhatHeldBeforeADamagedInstruction) {
  const auto section = section_with({0x44, 0x0e, 16, 0x44, 0x3d});  // +4, rsp+16, +4, no such thing
  const auto table = make_cfi_table(ElfPiece{section, 0x5000});
  EXPECT_EQ(table.damaged(), 1u);
  ASSERT_NE(table.find(0x1004), nullptr);
  EXPECT_EQ(table.find(0x1004)->cfa_offset, 16);
  EXPECT_EQ(table.find(0x1008), nullptr);
}

TEST(CfiTable, RestoresARememberedState) {
  // +1 rsp+16 rbp@-16 remember; +1 rsp+8; +1 restore
  const auto section = section_with({0x41, 0x0e, 16, 0x86, 2, 0x0a, 0x41, 0x0e, 8, 0x41, 0x0b});
  const auto table = make_cfi_table(ElfPiece{section, 0x5000});
  ASSERT_NE(table.find(0x1003), nullptr);
  EXPECT_EQ(table.find(0x1002)->cfa_offset, 8);
  EXPECT_EQ(table.find(0x1003)->cfa_offset, 16);
  EXPECT_EQ(table.find(0x1003)->of(kRbp), RegRule(Saved::kAtCfa, -16));
}

}  // namespace
}  // namespace clrscope::unwind
