// Prints what our readers say of lines, for comparison with others': see tests/e2e/lines_*.case.
//
//   lines_live pdb MODULE              every sequence point, as tests/oracle's `pdb` prints it
#include <cstdio>
#include <cstring>
#include <string>

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

}  // namespace

int main(int argc, char** argv) {
  if (argc == 3 && std::strcmp(argv[1], "pdb") == 0) {
    const auto done = print_pdb(argv[2]);
    if (!done) std::fprintf(stderr, "lines_live: %s\n", done.error().what.c_str());
    return done ? 0 : 2;
  }
  std::fputs("usage: lines_live pdb MODULE\n", stderr);
  return 3;
}
