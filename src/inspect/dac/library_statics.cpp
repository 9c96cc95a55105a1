// Library::statics(): where the static fields of .NET 8 lie, which has no data contracts.
#include <algorithm>
#include <set>

#include "inspect/dac/library.h"

namespace clrscope::inspect::dac {
namespace {

constexpr std::uint32_t kTypesByDefinition = 0;  // of a module's maps
// A field, which the library is not asked about: of static ones it may crash. Its class, a word of
// token and flags, one of offset and type.
constexpr std::uint64_t kFieldBytes = 16;
constexpr std::uint64_t kStatic = 1 << 24, kThreadStatic = 1 << 25;
constexpr std::uint64_t kInFile = 1 << 26;  // its value lies in the module's file
constexpr std::uint32_t kFieldDef = 0x04000000;
constexpr std::uint32_t kValueType = 17, kClass = 18;
constexpr std::size_t kMostTypes = 1 << 20;

void note_type(std::uint32_t, std::uint64_t method_table, void* token) {
  auto& types = *static_cast<std::vector<std::uint64_t>*>(token);
  if (types.size() < kMostTypes) types.push_back(method_table);
}

}  // namespace

std::vector<RawStatic> Library::statics(const std::vector<std::uint64_t>& method_tables) {
  std::set<std::uint64_t> modules;
  for (const auto table : method_tables) {
    MethodTableData data;
    if (is_method_table(table) &&
        succeeded(call(sos_.get(), Sos::kGetMethodTableData, table, &data)) && data.module != 0)
      modules.insert(data.module);
  }
  std::vector<RawStatic> found;
  for (const auto module_address : modules) {
    if (module(module_address).path.empty()) continue;  // one that the program made
    LocalModuleData local;
    if (!succeeded(
            call(sos_.get(), Sos::kGetDomainLocalModuleDataFromModule, module_address, &local)) ||
        local.collected_statics == 0)
      continue;
    std::vector<std::uint64_t> types;
    call(sos_.get(), Sos::kTraverseModuleMap, kTypesByDefinition, module_address, &note_type,
         static_cast<void*>(&types));
    for (const auto type : types) add_statics(type, local.collected_statics, found);
  }
  return found;
}

void Library::add_statics(std::uint64_t method_table, std::uint64_t base,
                          std::vector<RawStatic>& found) {
  MethodTableData data;
  MethodTableFieldData fields, inherited;
  if (!is_method_table(method_table) ||
      !succeeded(call(sos_.get(), Sos::kGetMethodTableData, method_table, &data)) ||
      data.is_dynamic != 0 ||  // has a place of its own: generic types
      !succeeded(call(sos_.get(), Sos::kGetMethodTableFieldData, method_table, &fields)) ||
      fields.static_fields == 0)
    return;
  if (data.parent != 0 && is_method_table(data.parent))
    call(sos_.get(), Sos::kGetMethodTableFieldData, data.parent, &inherited);
  const int own = std::max(0, fields.instance_fields - inherited.instance_fields);
  int left = own + fields.static_fields + fields.thread_static_fields;
  std::string type;
  for (auto at = fields.first; at != 0 && left > 0 && found.size() < kMostStatics; --left) {
    std::uint64_t table = 0, word = 0;
    if (!target_.read_word(at, table) || table != method_table || !target_.read_word(at + 8, word))
      return;
    at += kFieldBytes;
    const auto kind = word >> 59;
    if ((word & (kStatic | kThreadStatic | kInFile)) != kStatic ||
        (kind != kValueType && kind != kClass))
      continue;
    if (type.empty()) type = type_name(method_table);
    auto name = name_of_token(module(data.module).metadata, kFieldDef | (word & 0xffffff));
    if (!type.empty() && !name.empty())
      found.push_back(
          {.type = type, .field = std::move(name), .address = base + (word >> 32 & 0x7ffffff)});
  }
}

}  // namespace clrscope::inspect::dac
