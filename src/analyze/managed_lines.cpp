#include "analyze/managed_lines.h"

namespace clrscope::analyze {
namespace {

// `ils` and `natives` have as many.
std::vector<IlMap::Entry> entries_of(ByteReader ils, ByteReader natives, std::size_t count) {
  std::vector<IlMap::Entry> entries;
  entries.reserve(count);
  for (std::size_t i = 0; i < count; ++i)
    entries.push_back({.native = natives.read<std::uint32_t>(), .il = ils.read<std::uint32_t>()});
  return entries;
}

std::vector<IlMap::Entry> read_entries(ByteReader& in) {
  const std::size_t count = in.read<std::uint16_t>();
  const ByteReader ils{in.take(count * 4)};
  const ByteReader natives{in.take(count * 4)};
  return in.ok() ? entries_of(ils, natives, count) : std::vector<IlMap::Entry>{};
}

}  // namespace

void ManagedLines::on_code(const Event& event, const MethodCode& code, Order order) {
  const Body body{code.start, code.method_id};
  if (order == Order::kMapFollows) {
    last_code_[event.thread] = body;
    return;
  }
  const auto mapped = last_map_.extract(event.thread);
  if (!mapped.empty() && mapped.mapped().method_id == code.method_id)
    maps_.insert_or_assign(body, std::move(mapped.mapped().map));
}

void ManagedLines::on_map(const Event& event, Order order) {
  ByteReader in{event.payload};
  const auto method_id = in.read<std::uint64_t>();
  in.skip(9);  // ReJIT's number, extent
  IlMap map{read_entries(in)};
  if (map.empty()) return;
  if (order == Order::kMapCameBefore) {
    last_map_.insert_or_assign(event.thread, Mapped{method_id, std::move(map)});
    return;
  }
  const auto code = last_code_.find(event.thread);
  if (code != last_code_.end() && code->second.method_id == method_id)
    maps_.insert_or_assign(code->second, std::move(map));
}

void ManagedLines::on_image_map(const Event& event) {
  ByteReader in{event.payload};
  const auto start = in.read_varuint();
  const std::size_t count = in.read<std::uint16_t>();
  const ByteReader ils{in.take(count * 4)};
  const std::size_t again = in.read<std::uint16_t>();
  const ByteReader natives{in.take(again * 4)};
  if (in.ok() && again == count)
    image_maps_.insert_or_assign(start, IlMap{entries_of(ils, natives, count)});
}

void ManagedLines::on_module(std::uint64_t module_id, const std::string& path, PdbReference pdb) {
  pdbs_by_path_[path] = pdb;
  pdbs_[module_id] = std::move(pdb);
}

std::optional<PdbReference> ManagedLines::pdb_of_path(std::string_view path) const {
  const auto found = pdbs_by_path_.find(std::string{path});
  return found == pdbs_by_path_.end() ? std::nullopt : std::optional{found->second};
}

// By where the code lies in a mapped file: instances of generic methods lie in the image of whoever
// wanted them. Where the trace has no mappings, by the method's place in its own module.
IlMap ManagedLines::compiled_ahead(SourceLines& lines, const Code& code) const {
  if (const auto told = image_maps_.find(code.method.start); told != image_maps_.end())
    return told->second;
  const bool mapped = !code.image_path.empty();
  const auto path = mapped ? code.image_path : code.module_path;
  const auto* image = lines.ready_to_run(std::string{path}, pdb_of_path(path));
  if (!image) return {};
  std::optional<std::uint32_t> function;
  if (!mapped)
    function = image->tables().function_of_token(code.method.token);
  else if (const auto rva = image->rva_of_offset(code.image_offset))
    function = image->tables().function_at(*rva);
  return function ? image->tables().il_map(*function) : IlMap{};
}

std::optional<SourceLine> ManagedLines::find(SourceLines& lines, const Code& code,
                                             std::uint64_t address) {
  const auto& method = code.method;
  if (method.dynamic) return std::nullopt;
  const Body body{method.start, method.method_id};
  auto map = maps_.find(body);
  if (map == maps_.end()) {
    if (method.jitted) return std::nullopt;
    map = maps_.emplace(body, compiled_ahead(lines, code)).first;
  }
  // A return address may lie right behind the code that it was called from.
  const auto offset = address < method.start ? 0 : address - method.start;
  const auto il = map->second.il_offset(static_cast<std::uint32_t>(offset));
  if (!il) return std::nullopt;
  const auto pdb = pdbs_.find(method.module_id);
  return lines.of_managed(std::string{code.module_path},
                          pdb == pdbs_.end() ? std::nullopt : std::optional{pdb->second},
                          method.token, *il);
}

}  // namespace clrscope::analyze
