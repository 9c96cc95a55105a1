// Finds the portable PDB of a managed module: inside the module, beside it, where the compiler put
// it, or in the user's folder of symbols.
//
//   const auto module = TRY(NativeFile::open(path));
//   const auto pdb = TRY(find_pdb(module.bytes(), path, {.symbol_folder = "/symbols"}));
//   pdb.pdb().line_of(token, il_offset);
//
// A PDB counts only when it has the id that the module asks for: a name alone proves nothing.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "symbols/native_file.h"
#include "symbols/native_names.h"
#include "symbols/pe.h"
#include "symbols/portable_pdb.h"

namespace clrscope {

// A portable PDB and its bytes.
class PdbFile {
 public:
  // `where` is for people.
  static Result<PdbFile> open(const std::string& path);
  static Result<PdbFile> of(std::vector<std::uint8_t> bytes, std::string where);

  const PortablePdb& pdb() const { return pdb_; }
  const std::string& where() const { return where_; }

 private:
  PdbFile(std::variant<NativeFile, std::vector<std::uint8_t>> bytes, PortablePdb pdb,
          std::string where)
      : bytes_(std::move(bytes)), pdb_(pdb), where_(std::move(where)) {}

  std::variant<NativeFile, std::vector<std::uint8_t>> bytes_;  // what pdb_ looks into
  PortablePdb pdb_;
  std::string where_;
};

// What a module says of its PDB.
struct PdbReference {
  std::array<std::uint8_t, 16> guid{};
  std::optional<std::uint32_t> stamp{};  // unknown when only the runtime's events tell of it
  std::string path{};                    // where the compiler wrote it

  bool fits(const PdbId& id) const;
};

std::optional<PdbReference> pdb_reference(const PeFile& module);
// The PDB that the module carries in itself.
Result<PdbFile> embedded_pdb(const PeFile& module, const std::string& module_path);

// `folders.root` is put before the compiler's path and the module's own.
Result<PdbFile> find_pdb(Bytes module, const std::string& module_path, const DebugFolders& folders);
// The same when the module itself cannot be read.
Result<PdbFile> find_pdb(const PdbReference& wanted, const std::string& module_path,
                         const DebugFolders& folders);

}  // namespace clrscope
