#include "symbols/source_lines.h"

namespace clrscope {
namespace {

// Modules made at run time have no file.
bool is_file(const std::string& path) { return path.starts_with('/'); }

Result<PdbFile> pdb_of(const std::string& path, const std::optional<PdbReference>& wanted,
                       const DebugFolders& folders) {
  const auto file = NativeFile::open(folders.root + path);
  if (!file) return wanted ? find_pdb(*wanted, path, folders) : Result<PdbFile>{fail(file.error())};
  if (!wanted) return find_pdb(file->bytes(), path, folders);
  if (const auto module = PeFile::parse_any(file->bytes()))
    if (auto inside = embedded_pdb(*module, path); inside && wanted->fits(inside->pdb().id()))
      return inside;
  return find_pdb(*wanted, path, folders);
}

}  // namespace

SourceLines::SourceLines(DebugFolders folders) : folders_(std::move(folders)) {}
SourceLines::~SourceLines() = default;

SourceLines::Module& SourceLines::module(const std::string& path,
                                         const std::optional<PdbReference>& wanted) {
  const auto [at, is_new] = modules_.try_emplace(path);
  if (is_new) {
    if (auto pdb = pdb_of(path, wanted, folders_))
      at->second.pdb.emplace(std::move(*pdb));
    else
      at->second.why = pdb.error().what;
  }
  return at->second;
}

std::optional<SourceLine> SourceLines::of_managed(const std::string& module_path,
                                                  const std::optional<PdbReference>& wanted,
                                                  std::uint32_t method_token,
                                                  std::uint32_t il_offset) {
  if (!is_file(module_path)) return std::nullopt;
  const auto& known = module(module_path, wanted);
  if (!known.pdb) return std::nullopt;
  return known.pdb->pdb().line_of(method_token, il_offset);
}

const ReadyToRunImage* SourceLines::ready_to_run(const std::string& module_path,
                                                 const std::optional<PdbReference>& wanted) {
  const auto [at, is_new] = images_.try_emplace(module_path);
  if (!is_new || !is_file(module_path)) return at->second.image.get();
  auto image = ReadyToRunImage::open(folders_.root + module_path, wanted);
  if (!image && !folders_.symbol_folder.empty())
    image = ReadyToRunImage::open(
        folders_.symbol_folder + module_path.substr(module_path.rfind('/')), wanted);
  if (image)
    at->second.image = std::make_unique<ReadyToRunImage>(std::move(*image));
  else
    at->second.why = image.error().what;
  return at->second.image.get();
}

SourceLines::Native SourceLines::load_native(const std::string& path,
                                             const std::string& build_id) const {
  Native native;
  auto file = NativeFile::open(folders_.root + path);
  if (!file) return native;
  const auto elf = ElfFile::parse(file->bytes());
  if (!elf || (!build_id.empty() && elf->build_id() != build_id)) return native;
  native.segments = elf->segments();
  if (auto lines = DwarfLines::of(*elf)) {
    native.lines = std::move(*lines);
    native.file = std::move(*file);
    return native;
  }
  const auto debug_path = find_debug_file(*elf, folders_.root + path, folders_);
  if (!debug_path) return native;
  auto debug_file = NativeFile::open(*debug_path);
  if (!debug_file) return native;
  const auto debug = ElfFile::parse(debug_file->bytes());
  if (!debug) return native;
  if (auto lines = DwarfLines::of(*debug)) {
    native.lines = std::move(*lines);
    native.file = std::move(*debug_file);
  }
  return native;
}

std::optional<SourceLine> SourceLines::of_native(const std::string& path,
                                                 const std::string& build_id,
                                                 std::uint64_t file_offset) {
  if (!is_file(path)) return std::nullopt;
  const auto [at, is_new] = natives_.try_emplace({path, build_id});
  if (is_new) at->second = load_native(path, build_id);
  if (!at->second.lines) return std::nullopt;
  const auto vaddr = code_vaddr_of_offset(at->second.segments, file_offset);
  return vaddr ? at->second.lines->find(*vaddr) : std::nullopt;
}

std::vector<SourceLines::Missing> SourceLines::missing() const {
  std::vector<Missing> all;
  for (const auto& [path, module] : modules_)
    if (!module.pdb) all.push_back({path, module.why});
  for (const auto& [path, image] : images_)
    if (!image.why.empty()) all.push_back({path, image.why});
  return all;
}

}  // namespace clrscope
