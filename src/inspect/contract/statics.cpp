#include "inspect/contract/statics.h"

#include <algorithm>

namespace clrscope::inspect {
namespace {

constexpr std::size_t kMostModules = 65536;
constexpr std::size_t kMostTypes = 1 << 20;
constexpr std::size_t kMostStatics = 1 << 20;
constexpr std::uint32_t kMostAssemblies = 1 << 20;
constexpr std::uint64_t kMostBuckets = 1 << 22;
constexpr std::uint64_t kTypeBits = ~std::uint64_t{7};

constexpr std::uint32_t kValueType = 17, kClass = 18;

// What lies before a type's auxiliary data: {collected statics, others, method table}, and before
// it, of a type with thread statics, {index of others, index of collected ones, fields}.
struct StaticsRecord {
  std::uint64_t collected, others, table;
};
constexpr std::uint64_t kThreadRecordBytes = 40, kThreadIndexAt = 4;

constexpr std::uint32_t kNotCollectible = 0;  // the upper byte of an index
constexpr std::uint64_t kUnusedIndexes = 2;   // before the first that is in a thread's array
constexpr std::uint64_t kArrayData = 16;

}  // namespace

Statics::Statics(Memory& memory, const Descriptor& descriptor, Modules& modules, Types& types,
                 Threads& threads)
    : memory_(memory), descriptor_(descriptor), modules_(modules), types_(types), store_(threads) {}

std::vector<StaticField> Statics::list(std::span<const std::uint64_t> method_tables,
                                       std::span<const RuntimeThread> threads) {
  threads_ = threads;
  seen_modules_.clear();
  seen_types_.clear();
  found_.clear();
  add_assemblies();
  for (const auto table : method_tables) {
    add_type(table);
    add_module(types_.module_of(table));
  }
  return std::move(found_);
}

// .NET 10 lists them.
void Statics::add_assemblies() {
  const auto domain_at = descriptor_.address("AppDomain");
  const auto list_at = descriptor_.offset("AppDomain", "DomainAssemblyList");
  const auto block_at = descriptor_.offset("ArrayListBase", "FirstBlock");
  const auto next_at = descriptor_.offset("ArrayListBlock", "Next");
  const auto size_at = descriptor_.offset("ArrayListBlock", "Size");
  const auto start_at = descriptor_.offset("ArrayListBlock", "ArrayStart");
  const auto module_at = descriptor_.offset("Assembly", "Module");
  if (!domain_at || !list_at || !block_at || !next_at || !size_at || !start_at || !module_at)
    return;
  const auto domain = memory_.pointer(*domain_at).value_or(0);
  auto block = domain == 0 ? 0 : domain + *list_at + *block_at;
  std::uint32_t left = kMostAssemblies;
  while (block != 0 && left > 0) {
    const auto size = memory_.get<std::uint32_t>(block + *size_at).value_or(0);
    for (std::uint32_t i = 0; i < size && left > 0; ++i, --left) {
      const auto assembly = memory_.pointer(block + *start_at + i * 8ULL);
      if (!assembly) return;
      // .NET 10 has a record of the assembly there, which begins with its address.
      const auto own = *assembly == 0 ? 0 : memory_.pointer(*assembly).value_or(0);
      if (own != 0) add_module(memory_.pointer(own + *module_at).value_or(0));
    }
    if (size == 0) return;
    block = memory_.pointer(block + *next_at).value_or(0);
  }
}

void Statics::add_module(std::uint64_t module) {
  if (module == 0 || seen_modules_.size() >= kMostModules || !seen_modules_.insert(module).second ||
      !modules_.at(module).metadata)
    return;
  add_type_definitions(module);
  add_generic_types(module);
}

void Statics::add_type_definitions(std::uint64_t module) {
  struct Map {
    std::uint64_t next, entries;
    std::uint32_t count;
  };
  const auto at = descriptor_.offset("Module", "TypeDefToMethodTableMap");
  const bool as_known = descriptor_.offset("ModuleLookupMap", "TableData").value_or(8) == 8 &&
                        descriptor_.offset("ModuleLookupMap", "Next").value_or(0) == 0 &&
                        descriptor_.offset("ModuleLookupMap", "Count").value_or(16) == 16;
  if (!at || !as_known) return;
  auto map_at = module + *at;
  for (std::size_t maps = 0; map_at != 0 && maps < 64; ++maps) {
    const auto map = memory_.get<Map>(map_at);
    if (!map || map->count > kMostTypes) return;
    for (std::uint64_t i = 0; i < map->count; ++i) {
      const auto entry = memory_.pointer(map->entries + i * 8);
      if (!entry) break;
      if (*entry != 0) add_type(*entry & kTypeBits);
    }
    map_at = map->next;
  }
}

// Chains of {type, next}; a table's first three places say how long it is.
void Statics::add_generic_types(std::uint64_t module) {
  const auto at = descriptor_.offset("Module", "AvailableTypeParams");
  const auto buckets_at = descriptor_.offset("EETypeHashTable", "Buckets");
  const auto value_at = descriptor_.offset("EETypeHashTable", "VolatileEntryValue");
  const auto next_at = descriptor_.offset("EETypeHashTable", "VolatileEntryNextEntry");
  if (!at || !buckets_at || !value_at || !next_at) return;
  const auto table = memory_.pointer(module + *at).value_or(0);
  const auto buckets = table == 0 ? 0 : memory_.pointer(table + *buckets_at).value_or(0);
  const auto length = buckets == 0 ? 0 : memory_.pointer(buckets).value_or(0);
  if (length > kMostBuckets) return;
  constexpr std::uint64_t kSpecial = 3;
  auto left = kMostTypes;
  for (std::uint64_t i = 0; i < length; ++i) {
    auto entry = memory_.pointer(buckets + (i + kSpecial) * 8).value_or(0);
    for (; entry != 0 && entry % 2 == 0 && left > 0; --left) {
      const auto type = memory_.pointer(entry + *value_at).value_or(0);
      if ((type & 2) == 0) add_type(type & kTypeBits);  // else an array's or pointer's description
      entry = memory_.pointer(entry + *next_at).value_or(0);
    }
  }
}

void Statics::add_type(std::uint64_t method_table) {
  for (int depth = 0; method_table != 0 && depth < 64; ++depth) {
    if (seen_types_.size() >= kMostTypes || !seen_types_.insert(method_table).second ||
        !types_.is_method_table(method_table))
      return;
    add_fields(method_table);
    method_table = memory_.pointer(method_table + 16).value_or(0);  // the base
  }
}

void Statics::add_fields(std::uint64_t method_table) {
  const auto fields = types_.static_fields(method_table);
  if (fields.empty()) return;
  const auto data_at = descriptor_.offset("MethodTable", "AuxiliaryData").value_or(32);
  const auto data = memory_.pointer(method_table + data_at).value_or(0);
  const auto record = memory_.get<StaticsRecord>(data - sizeof(StaticsRecord));
  if (data == 0 || !record || record->table != method_table) return;
  const auto base = record->collected & ~std::uint64_t{1};  // the bit: not initialized yet
  for (const auto& field : fields) {
    if (found_.size() >= kMostStatics) return;
    const bool held = field.element_type == kClass || field.element_type == kValueType;
    if (!held || field.in_file) continue;
    if (field.of_thread)
      add_thread_fields(method_table, field.name, field.offset);
    else if (base != 0)
      found_.push_back(
          {.name = types_.name(method_table) + '.' + field.name, .address = base + field.offset});
  }
}

void Statics::add_thread_fields(std::uint64_t method_table, const std::string& field_name,
                                std::uint32_t offset) {
  const auto data_at = descriptor_.offset("MethodTable", "AuxiliaryData").value_or(32);
  const auto data = memory_.pointer(method_table + data_at).value_or(0);
  const auto bytes = descriptor_.size("ThreadStaticsInfo").value_or(kThreadRecordBytes);
  const auto index_at =
      descriptor_.offset("ThreadStaticsInfo", "GCTlsIndex").value_or(kThreadIndexAt);
  const auto index = memory_.get<std::uint32_t>(data - bytes + index_at);
  if (!index) return;
  for (const auto& thread : threads_) {
    const auto base = thread_base(thread, *index);
    // It is an array of objects, and the offset counts from its beginning.
    const auto length = base == 0 ? 0 : memory_.get<std::uint32_t>(base + 8).value_or(0);
    if (offset < kArrayData || (offset - kArrayData) / 8 >= length) continue;
    if (found_.size() >= kMostStatics) return;
    found_.push_back({.name = types_.name(method_table) + '.' + field_name,
                      .address = base + offset,
                      .thread = thread.managed_id});
  }
}

std::uint64_t Statics::thread_base(const RuntimeThread& thread, std::uint32_t index) {
  const auto unused =
      descriptor_.value("NumberOfTlsOffsetsNotUsedInNoncollectibleArray").value_or(kUnusedIndexes);
  const auto number = index & 0xffffff;
  const auto local = index >> 24 == kNotCollectible ? store_.local_data(thread) : 0;
  if (local == 0 || number < unused || number >= memory_.get<std::uint32_t>(local).value_or(0))
    return 0;
  const auto array = store_.statics_of(thread);
  return array == 0 ? 0 : memory_.pointer(array + kArrayData + (number - unused) * 8).value_or(0);
}

}  // namespace clrscope::inspect
