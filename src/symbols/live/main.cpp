// Prints what our readers say of lines, for comparison with others': see tests/e2e/lines_*.case.
//
//   lines_live pdb MODULE          every sequence point, as tests/oracle's `pdb` prints it
//   lines_live dwarf FILE          every row of its line programs: "address line file", file's name
//   only lines_live find FILE           reads addresses in hexadecimal from stdin, says "file:line"
//   of each
#include <cstdio>
#include <cstring>
#include <string>

#include "symbols/dwarf_lines.h"
#include "symbols/pdb_file.h"

namespace {

using namespace clrscope;

Result<> print_pdb(const std::string& path) {
  const auto module = TRY(NativeFile::open(path));
  const auto file = TRY(find_pdb(module.bytes(), path, {}));
  for (std::uint32_t row = 1; row <= file.pdb().method_count(); ++row) {
    const auto token = 0x06000000 | row;
    for (const auto& p : file.pdb().points(token)) {
      if (p.hidden())
        std::printf("%08x %u hidden\n", token, p.il_offset);
      else
        std::printf("%08x %u %u %u %u %u %s\n", token, p.il_offset, p.line, p.column, p.end_line,
                    p.end_column, file.pdb().document_name(p.document).c_str());
    }
  }
  return {};
}

std::string_view file_name(std::string_view path) { return path.substr(path.rfind('/') + 1); }

Result<> print_dwarf(const std::string& path) {
  const auto file = TRY(NativeFile::open(path));
  const auto elf = TRY(ElfFile::parse(file.bytes()));
  const auto lines = TRY(DwarfLines::of(elf));
  for (const auto& row : lines.rows())
    std::printf("%llx %s %s\n", static_cast<unsigned long long>(row.vaddr),
                row.end ? "-" : std::to_string(row.line).c_str(),
                std::string{file_name(row.file)}.c_str());
  return {};
}

Result<> print_found(const std::string& path) {
  const auto file = TRY(NativeFile::open(path));
  const auto elf = TRY(ElfFile::parse(file.bytes()));
  const auto lines = TRY(DwarfLines::of(elf));
  unsigned long long vaddr = 0;
  while (std::scanf("%llx", &vaddr) == 1) {
    const auto place = lines.find(vaddr);
    std::printf("%s:%u\n", place ? std::string{file_name(place->file)}.c_str() : "??",
                place ? place->line : 0);
  }
  return {};
}

}  // namespace

int main(int argc, char** argv) {
  static constexpr std::pair<const char*, Result<> (*)(const std::string&)> kCommands[] = {
      {"pdb", print_pdb}, {"dwarf", print_dwarf}, {"find", print_found}};
  for (const auto& [name, print] : kCommands) {
    if (argc != 3 || std::strcmp(argv[1], name) != 0) continue;
    const auto done = print(argv[2]);
    if (!done) std::fprintf(stderr, "lines_live: %s\n", done.error().what.c_str());
    return done ? 0 : 2;
  }
  std::fputs("usage: lines_live pdb|dwarf|find FILE\n", stderr);
  return 3;
}
