#include "inspect/source_lines.h"

#include <fmt/format.h>

#include "base/proc.h"

namespace clrscope::inspect {

SourceLines::SourceLines(Target& target, RuntimeReader& reader, std::string symbol_folder)
    : target_(target), reader_(reader) {
  folders_.symbol_folder = std::move(symbol_folder);
  // Of a core nobody knows whose root it was: the files are looked for here.
  if (target.kind() != TargetKind::kCore) folders_.root = proc_root(target.pid());
}

const PdbFile* SourceLines::pdb_of(const std::string& module) {
  const auto [slot, is_new] = pdbs_.try_emplace(module);
  if (!is_new || module.empty()) return slot->second.get();
  const auto fd = target_.open_file(module);
  if (!fd) return nullptr;
  const auto file = NativeFile::open(fmt::format("/proc/self/fd/{}", fd->get()));
  if (!file) return nullptr;
  if (auto pdb = find_pdb(file->bytes(), module, folders_))
    slot->second = std::make_unique<PdbFile>(*std::move(pdb));
  return slot->second.get();
}

std::optional<SourceLine> SourceLines::find(const MethodInfo& method, std::uint64_t pc) {
  const auto* pdb = pdb_of(method.module);
  if (!pdb) return std::nullopt;
  const auto offset = reader_.il_offset(method, pc);
  return offset ? pdb->pdb().line_of(method.token, *offset) : std::nullopt;
}

}  // namespace clrscope::inspect
