// The source lines of managed frames: a method's IL offset, looked up in its module's portable PDB.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>

#include "inspect/runtime_reader.h"
#include "inspect/target.h"
#include "symbols/pdb_file.h"

namespace clrscope::inspect {

class SourceLines {
 public:
  // `symbol_folder` may be empty; target and reader outlive the object.
  SourceLines(Target& target, RuntimeReader& reader, std::string symbol_folder);

  // Nothing when the module has no PDB that fits, or the PDB has no line for it.
  std::optional<SourceLine> find(const MethodInfo& method, std::uint64_t pc);
  // Where the method begins.
  std::optional<SourceLine> start_of(const MethodInfo& method);

 private:
  const PdbFile* pdb_of(const std::string& module);
  Result<NativeFile> open(const std::string& path);
  Result<PdbFile> find(const std::string& module);
  Result<PdbFile> find_in_program(const std::string& module);

  Target& target_;
  RuntimeReader& reader_;
  DebugFolders folders_;
  std::map<std::string, std::unique_ptr<PdbFile>> pdbs_;  // null: it has none
};

}  // namespace clrscope::inspect
