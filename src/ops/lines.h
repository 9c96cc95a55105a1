// Source lines in what is made of a trace: whether they are wanted, and what was missing.
#pragma once

#include <string>

namespace clrscope {
class SourceLines;
}

namespace clrscope::ops {

struct LinesOptions {
  bool wanted = false;
  std::string symbol_folder{};  // where else PDBs and debug files are looked for
};

// One line on the modules whose lines were not found; empty when there are none.
std::string missing_lines(const SourceLines& lines);

}  // namespace clrscope::ops
