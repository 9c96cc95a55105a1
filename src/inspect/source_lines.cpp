#include "inspect/source_lines.h"

#include <fmt/format.h>

#include "base/proc.h"
#include "inspect/elf_image.h"
#include "symbols/bundle.h"
#include "unwind/code_map.h"

namespace clrscope::inspect {

SourceLines::SourceLines(Target& target, RuntimeReader& reader, std::string symbol_folder)
    : target_(target), reader_(reader) {
  folders_.symbol_folder = std::move(symbol_folder);
  // Of a core nobody knows whose root it was: the files are looked for here.
  if (target.kind() != TargetKind::kCore) folders_.root = proc_root(target.pid());
}

Result<NativeFile> SourceLines::open(const std::string& path) {
  const auto fd = TRY(target_.open_file(path));
  // A module says in a few bytes where its PDB is.
  return NativeFile::open_few_pages(fmt::format("/proc/self/fd/{}", fd.get()));
}

// The module lies in the program, the PDB beside the program or in the module.
Result<PdbFile> SourceLines::find_in_program(const std::string& module) {
  for (const auto& image : runtime_candidates(TRY(target_.mappings()))) {
    if (unwind::is_jit_mapping(image.path)) continue;
    const auto program = open(image.path);
    const auto bytes = program ? file_in_bundle(program->bytes(), module)
                               : Result<std::vector<std::uint8_t>>{fail(program.error())};
    if (bytes)
      return find_pdb(*bytes, image.path.substr(0, image.path.rfind('/') + 1) + module, folders_);
  }
  return fail(Errc::kNotFound, "{} is in no file", module);
}

Result<PdbFile> SourceLines::find(const std::string& module) {
  // Modules of an application that is one file have no path.
  if (module.find('/') == std::string::npos) return find_in_program(module);
  const auto file = TRY(open(module));
  return find_pdb(file.bytes(), module, folders_);
}

const PdbFile* SourceLines::pdb_of(const std::string& module) {
  const auto [slot, is_new] = pdbs_.try_emplace(module);
  if (!is_new || module.empty()) return slot->second.get();
  if (auto pdb = find(module)) slot->second = std::make_unique<PdbFile>(*std::move(pdb));
  return slot->second.get();
}

std::optional<SourceLine> SourceLines::find(const MethodInfo& method, std::uint64_t pc) {
  const auto* pdb = pdb_of(method.module);
  if (!pdb) return std::nullopt;
  const auto offset = reader_.il_offset(method, pc);
  return offset ? pdb->pdb().line_of(method.token, *offset) : std::nullopt;
}

std::optional<SourceLine> SourceLines::start_of(const MethodInfo& method) {
  const auto* pdb = pdb_of(method.module);
  return pdb ? pdb->pdb().line_of(method.token, 0) : std::nullopt;
}

}  // namespace clrscope::inspect
