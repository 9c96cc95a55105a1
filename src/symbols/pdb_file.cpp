#include "symbols/pdb_file.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/inflate.h"

namespace clrscope {
namespace {

constexpr std::size_t kDebugDirectory = 6;
constexpr std::uint32_t kCodeView = 2;
constexpr std::uint32_t kEmbeddedPdb = 17;
constexpr std::uint32_t kRsds = 0x53445352;
constexpr std::uint32_t kMpdb = 0x4244504d;
constexpr std::uint16_t kPortable = 0x504d;  // a CodeView entry's minor version

struct DebugEntry {
  std::uint32_t stamp = 0;
  std::uint16_t minor = 0;
  std::uint32_t type = 0;
  Bytes bytes{};
};

std::vector<DebugEntry> debug_entries(const PeFile& module) {
  constexpr std::size_t kEntry = 28;
  constexpr std::size_t kMost = 64;
  std::vector<DebugEntry> entries;
  const auto directory = module.directory(kDebugDirectory);
  const auto bytes = module.bytes_at(directory.rva);
  ByteReader in{bytes.first(std::min<std::size_t>(bytes.size(), directory.size))};
  while (in.remaining() >= kEntry && entries.size() < kMost) {
    DebugEntry entry;
    in.skip(4);
    entry.stamp = in.read<std::uint32_t>();
    in.skip(2);
    entry.minor = in.read<std::uint16_t>();
    entry.type = in.read<std::uint32_t>();
    const auto size = in.read<std::uint32_t>();
    in.skip(4);
    entry.bytes = module.piece(in.read<std::uint32_t>(), size);
    entries.push_back(entry);
  }
  return entries;
}

// The name at the end of a path of either kind of system.
std::string file_name(std::string_view path) {
  const auto slash = path.find_last_of("/\\");
  return std::string{slash == std::string_view::npos ? path : path.substr(slash + 1)};
}

std::string folder_of(std::string_view path) {
  const auto slash = path.rfind('/');
  return slash == std::string_view::npos ? "." : std::string{path.substr(0, slash)};
}

std::string without_extension(std::string name) {
  if (const auto dot = name.rfind('.'); dot != std::string::npos && dot > 0) name.resize(dot);
  return name;
}

// As symbol servers write it: "0CFA…F00", four parts of a GUID without anything between.
std::string server_key(const std::array<std::uint8_t, 16>& guid) {
  static constexpr std::array<std::size_t, 16> kOrder = {3, 2, 1,  0,  5,  4,  7,  6,
                                                         8, 9, 10, 11, 12, 13, 14, 15};
  std::string key;
  for (const auto i : kOrder) key += fmt::format("{:02x}", guid[i]);
  return key + "ffffffff";
}

}  // namespace

Result<PdbFile> PdbFile::open(const std::string& path) {
  auto file = TRY(NativeFile::open(path));
  const auto pdb = TRY(PortablePdb::parse(file.bytes()));
  return PdbFile{std::move(file), pdb, path};
}

Result<PdbFile> PdbFile::of(std::vector<std::uint8_t> bytes, std::string where) {
  const auto pdb = TRY(PortablePdb::parse(bytes));
  return PdbFile{std::move(bytes), pdb, std::move(where)};
}

bool PdbReference::fits(const PdbId& id) const {
  if (!std::equal(guid.begin(), guid.end(), id.begin())) return false;
  return !stamp || ByteReader{Bytes{id}.subspan(16)}.read<std::uint32_t>() == *stamp;
}

std::optional<PdbReference> pdb_reference(const PeFile& module) {
  for (const auto& entry : debug_entries(module)) {
    if (entry.type != kCodeView || entry.minor != kPortable) continue;
    ByteReader in{entry.bytes};
    if (in.read<std::uint32_t>() != kRsds) continue;
    PdbReference reference{.guid = in.read<std::array<std::uint8_t, 16>>(), .stamp = entry.stamp};
    in.skip(4);  // age
    if (!in.ok()) continue;
    const auto path = as_text(in.rest());
    reference.path = path.substr(0, path.find('\0'));
    return reference;
  }
  return std::nullopt;
}

Result<PdbFile> embedded_pdb(const PeFile& module, const std::string& module_path) {
  for (const auto& entry : debug_entries(module)) {
    if (entry.type != kEmbeddedPdb) continue;
    ByteReader in{entry.bytes};
    const auto magic = in.read<std::uint32_t>();
    const auto size = in.read<std::uint32_t>();
    if (!in.ok() || magic != kMpdb)
      return fail(Errc::kCorrupt, "{}: the PDB inside it is damaged", module_path);
    return PdbFile::of(TRY(inflate_piece(Packing::kDeflate, in.rest(), size)), module_path);
  }
  return fail(Errc::kNotFound, "{} has no PDB inside", module_path);
}

Result<PdbFile> find_pdb(Bytes bytes, const std::string& module_path, const DebugFolders& folders) {
  const auto module = TRY(PeFile::parse_any(bytes));
  if (auto embedded = embedded_pdb(module, module_path)) return embedded;
  const auto wanted = pdb_reference(module);
  if (!wanted) return fail(Errc::kNotFound, "{} was compiled without a portable PDB", module_path);
  return find_pdb(*wanted, module_path, folders);
}

Result<PdbFile> find_pdb(const PdbReference& wanted, const std::string& module_path,
                         const DebugFolders& folders) {
  const auto own_name = without_extension(file_name(module_path)) + ".pdb";
  const auto given_name = file_name(wanted.path);
  std::vector<std::string> places;
  const auto add = [&](const std::string& folder) {
    for (const auto& name : {own_name, given_name}) {
      if (name.size() <= 4 || name.size() > 255) continue;
      places.push_back(fmt::format("{}/{}", folder, name));
    }
  };
  if (const auto& own = folders.symbol_folder; !own.empty()) {
    add(own);
    const auto key = server_key(wanted.guid);
    for (const auto& name : {own_name, given_name})
      if (name.size() > 4) add(fmt::format("{}/{}/{}", own, name, key));
  }
  add(folders.root + folder_of(module_path));
  if (wanted.path.starts_with('/')) places.push_back(folders.root + wanted.path);

  bool other = false;
  for (const auto& place : places) {
    auto pdb = PdbFile::open(place);
    if (!pdb) continue;
    if (wanted.fits(pdb->pdb().id())) return pdb;
    other = true;
  }
  return fail(Errc::kNotFound, "no PDB for {}{}", module_path,
              other ? ": the one found is from another build" : "")
      .hint("put {} beside it, or into the folder given by --symbol-dir",
            given_name.empty() ? own_name : given_name);
}

}  // namespace clrscope
