#include "inspect/contract/types.h"

#include <fmt/format.h>

#include "symbols/signature.h"

namespace clrscope::inspect {
namespace {

constexpr int kMostNested = 16;
constexpr int kMostBases = 64;
constexpr std::uint32_t kMostFields = 4096;
constexpr std::uint32_t kMostArguments = 64;
constexpr std::size_t kMostTypes = 1 << 20;
constexpr std::size_t kMostName = 4096;
constexpr std::uint32_t kMostText = 1 << 20;

constexpr std::uint32_t kHasComponents = 0x80000000;
constexpr std::uint32_t kArrayMask = 0x000c0000;
constexpr std::uint32_t kArray = 0x00080000;
constexpr std::uint32_t kVectorIfArray = 0x00020000;
constexpr std::uint32_t kGenericMask = 0x30;
constexpr std::uint64_t kIsDescription = 2;  // of a type handle
constexpr std::uint32_t kTypeDef = 0x02000000;

// FieldDesc is not in the descriptor: {enclosing method table, token and flags, offset and type}.
struct Field {
  std::uint64_t table;
  std::uint32_t token_and_flags;
  std::uint32_t offset_and_type;
};
static_assert(sizeof(Field) == 16);
constexpr std::uint32_t kStatic = 1 << 24, kThreadStatic = 1 << 25, kInFile = 1 << 26;
constexpr std::uint32_t kFieldDef = 0x04000000;

bool is_array(std::uint32_t flags) {
  return (flags & kHasComponents) != 0 && (flags & kArrayMask) == kArray;
}

// Words on a stack can look like a type. One without a name must at least have the size of an
// object.
bool is_believable_size(std::uint32_t base_size) {
  constexpr std::uint32_t kSmallest = 24;
  constexpr std::uint32_t kLargest = 4096;
  return base_size >= kSmallest && base_size <= kLargest && base_size % 8 == 0;
}

}  // namespace

Result<Types> Types::open(Memory& memory, const Descriptor& descriptor, Modules& modules) {
  TRY(descriptor.require("RuntimeTypeSystem", 1));
  TRY(descriptor.require("Object", 1));
  Types made{memory, modules};
  Needs needs{descriptor};
  made.table_ = {.flags = needs.field("MethodTable", "MTFlags"),
                 .base_size = needs.field("MethodTable", "BaseSize"),
                 .flags2 = needs.field("MethodTable", "MTFlags2"),
                 .parent = needs.field("MethodTable", "ParentMethodTable"),
                 .module = needs.field("MethodTable", "Module"),
                 .class_or_canon = needs.field("MethodTable", "EEClassOrCanonMT"),
                 .inst = needs.field("MethodTable", "PerInstInfo")};
  // .NET 9 does not tell where the fields are; they are where 10 has them, and each is checked.
  made.class_ = {.method_table = needs.field("EEClass", "MethodTable"),
                 .field_list = descriptor.offset("EEClass", "FieldDescList").value_or(24),
                 .instance_fields = descriptor.offset("EEClass", "NumInstanceFields").value_or(50),
                 .static_fields = descriptor.offset("EEClass", "NumStaticFields").value_or(54),
                 .rank = needs.field("ArrayClass", "Rank")};
  made.description_ = {.type_and_flags = needs.field("TypeDesc", "TypeAndFlags"),
                       .param = needs.field("ParamTypeDesc", "TypeArg"),
                       .variable_module = needs.field("TypeVarTypeDesc", "Module"),
                       .variable_token = needs.field("TypeVarTypeDesc", "Token")};
  made.auxiliary_ = descriptor.offset("MethodTable", "AuxiliaryData").value_or(32);
  made.loader_module_ = descriptor.offset("MethodTableAuxiliaryData", "LoaderModule").value_or(8);
  made.type_arguments_ = needs.field("GenericsDictInfo", "NumTypeArgs");
  made.string_length_ = needs.field("String", "m_StringLength");
  made.string_chars_ = needs.field("String", "m_FirstChar");
  const auto string_variable = needs.variable("StringMethodTable");
  made.object_bits_ = needs.number("ObjectToMethodTableUnmask");
  TRY(needs.met());
  made.string_table_ = memory.pointer(string_variable).value_or(0);
  // Nothing else would be right either if this were not.
  if (const auto& name = made.name(made.string_table_); name != "System.String")
    return fail(Errc::kCorrupt, "the runtime's type String is named '{}'", name);
  return made;
}

std::optional<Types::Table> Types::read(std::uint64_t method_table) {
  if (method_table < 4096 || method_table % 8 != 0) return {};
  const auto flags = memory_->get<std::uint32_t>(method_table + table_.flags);
  const auto base_size = memory_->get<std::uint32_t>(method_table + table_.base_size);
  const auto flags2 = memory_->get<std::uint32_t>(method_table + table_.flags2);
  const auto parent = memory_->pointer(method_table + table_.parent);
  const auto module = memory_->pointer(method_table + table_.module);
  const auto canon = memory_->pointer(method_table + table_.class_or_canon);
  const auto inst = memory_->pointer(method_table + table_.inst);
  if (!flags || !base_size || !flags2 || !parent || !module || !canon || !inst) return {};
  return Table{*flags, *base_size, *flags2, *parent, *module, *canon, *inst};
}

std::optional<Types::Class> Types::class_of(std::uint64_t method_table) {
  if (method_table < 4096 || method_table % 8 != 0) return {};
  auto word = memory_->pointer(method_table + table_.class_or_canon);
  auto canonical = method_table;
  if (word && (*word & 1) != 0) {
    canonical = *word & ~std::uint64_t{1};
    word = memory_->pointer(canonical + table_.class_or_canon);
  }
  if (!word || *word < 4096 || *word % 8 != 0) return {};
  if (memory_->pointer(*word + class_.method_table) != canonical) return {};
  return Class{*word, canonical};
}

bool Types::is_method_table(std::uint64_t address) {
  return infos_.contains(address) || class_of(address).has_value();
}

std::uint64_t Types::module_of(std::uint64_t method_table) {
  return memory_->pointer(method_table + table_.module).value_or(0);
}

std::uint64_t Types::loader_module_of(std::uint64_t method_table) {
  const auto data = memory_->pointer(method_table + auxiliary_).value_or(0);
  return data == 0 ? 0 : memory_->pointer(data + loader_module_).value_or(0);
}

std::uint32_t Types::token_of(std::uint64_t method_table) {
  return kTypeDef | memory_->get<std::uint32_t>(method_table + table_.flags2).value_or(0) >> 8;
}

bool Types::is_array(std::uint64_t method_table) {
  return inspect::is_array(memory_->get<std::uint32_t>(method_table + table_.flags).value_or(0));
}

const std::string& Types::name(std::uint64_t handle, int depth) {
  if (const auto known = names_.find(handle); known != names_.end()) return known->second;
  if (names_.size() >= kMostTypes) names_.clear();
  names_[handle] = "?";  // while it is made: damaged memory may lead back to it
  auto made = make_name(handle, depth);
  return names_[handle] = made.empty() ? "?" : std::move(made);
}

std::string Types::make_name(std::uint64_t handle, int depth) {
  if (depth > kMostNested) return {};
  if ((handle & kIsDescription) != 0) return name_of_description(handle & ~kIsDescription, depth);
  const auto table = class_of(handle) ? read(handle) : std::nullopt;
  return table ? name_of_table(*table, handle, depth) : std::string{};
}

std::string Types::name_of_table(const Table& table, std::uint64_t method_table, int depth) {
  if (inspect::is_array(table.flags)) {
    std::uint8_t rank = 1;
    if ((table.flags & kVectorIfArray) == 0) {
      const auto of = class_of(method_table);
      rank = of ? memory_->get<std::uint8_t>(of->address + class_.rank).value_or(1) : 1;
    }
    if (rank == 0 || rank > 32) return {};
    return name(table.inst, depth + 1) + '[' + std::string(rank - 1U, ',') + ']';
  }
  auto& module = modules_->at(table.module);
  if (!module.metadata) return {};
  auto out = module.metadata->type_name(kTypeDef | table.flags2 >> 8);
  const auto kind = (table.flags & kHasComponents) == 0 ? table.flags & kGenericMask : 0;
  const bool generic = kind != 0 && kind != kGenericMask;  // all bits: a definition, open still
  if (out.empty() || !generic) return out;
  // The dictionary of its own is the last of those that it has; their numbers lie before them.
  const auto arguments = memory_->get<std::uint16_t>(table.inst - 8 + type_arguments_);
  const auto dictionaries = memory_->get<std::uint16_t>(table.inst - 8 + type_arguments_ - 2);
  if (!arguments || !dictionaries || *arguments > kMostArguments || *dictionaries == 0) return out;
  const auto own = memory_->pointer(table.inst + 8 * (std::uint64_t{*dictionaries} - 1));
  if (!own) return out;
  out += '[';
  for (std::uint64_t i = 0; i < *arguments; ++i) {
    if (i > 0) out += ',';
    if (out.size() > kMostName) {  // of arguments of arguments, in damaged memory
      out += "…";
      break;
    }
    out += name(memory_->pointer(*own + 8 * i).value_or(0), depth + 1);
  }
  return out += ']';
}

std::string Types::name_of_description(std::uint64_t description, int depth) {
  const auto word = memory_->get<std::uint32_t>(description + description_.type_and_flags);
  switch (word.value_or(0) & 0xff) {
    case 0x0f:
      return name(memory_->pointer(description + description_.param).value_or(0), depth + 1) + '*';
    case 0x10:
      return name(memory_->pointer(description + description_.param).value_or(0), depth + 1) + '&';
    case 0x13:
    case 0x1e: {
      const auto module = memory_->pointer(description + description_.variable_module);
      const auto token = memory_->get<std::uint32_t>(description + description_.variable_token);
      if (!module || !token) return {};
      auto& metadata = modules_->at(*module).metadata;
      return metadata ? metadata->generic_parameter_name(*token) : std::string{};
    }
    case 0x1b:
      return "method*";
    default:
      return {};
  }
}

const TypeInfo* Types::type_of_object(std::uint64_t object) {
  if (object < 4096 || object % 8 != 0) return nullptr;
  const auto word = memory_->pointer(object);
  return word ? info(*word & ~object_bits_) : nullptr;
}

const TypeInfo* Types::info(std::uint64_t method_table) { return info(method_table, 0); }

const TypeInfo* Types::info(std::uint64_t method_table, int depth) {
  if (const auto known = infos_.find(method_table); known != infos_.end())
    return known->second.get();
  const auto of = depth > kMostBases ? std::nullopt : class_of(method_table);
  const auto table = of ? read(method_table) : std::nullopt;
  if (!table) return nullptr;
  auto made = std::make_unique<TypeInfo>();
  made->method_table = method_table;
  made->name = name(method_table);
  made->base_size = table->base_size;
  made->module = modules_->at(table->module).path;
  if (made->name == "?" && !is_believable_size(made->base_size)) return nullptr;
  if ((table->flags & kHasComponents) != 0) made->component_size = table->flags & 0xffff;
  if (table->parent != 0 && table->parent != method_table) {
    if (const auto* const base = info(table->parent, depth + 1)) {
      made->base_name = base->name;
      made->fields = base->fields;
    }
  }
  if (!inspect::is_array(table->flags)) add_fields(*made, *of, *table);
  if (infos_.size() >= kMostTypes) return nullptr;  // no program has so many: garbage
  return (infos_[method_table] = std::move(made)).get();
}

std::uint32_t Types::instance_fields(std::uint64_t method_table) {
  const auto of = method_table == 0 ? std::nullopt : class_of(method_table);
  if (!of) return 0;
  return memory_->get<std::uint16_t>(of->address + class_.instance_fields).value_or(0);
}

void Types::add_fields(TypeInfo& type, const Class& of, const Table& table) {
  const auto all = instance_fields(of.canonical);
  const auto inherited = instance_fields(table.parent);
  const auto list = memory_->pointer(of.address + class_.field_list);
  auto& metadata = modules_->at(table.module).metadata;
  if (all <= inherited || all - inherited > kMostFields || !list || !metadata) return;
  for (std::uint32_t i = 0; i < all - inherited; ++i) {
    const auto field = memory_->get<Field>(*list + i * sizeof(Field));
    if (!field || field->table != of.canonical || (field->token_and_flags & kStatic) != 0) return;
    FieldInfo one;
    one.name = metadata->field_name(kFieldDef | (field->token_and_flags & 0xffffff));
    one.offset = (field->offset_and_type & 0x7ffffff) + 8;
    one.element_type = static_cast<std::uint8_t>(field->offset_and_type >> 27);
    if (one.name.empty()) return;
    type.fields.push_back(std::move(one));
  }
}

std::vector<Types::StaticOf> Types::static_fields(std::uint64_t method_table) {
  std::vector<StaticOf> found;
  const auto of = class_of(method_table);
  const auto table = of ? read(method_table) : std::nullopt;
  if (!table || inspect::is_array(table->flags)) return found;
  const auto statics = memory_->get<std::uint16_t>(of->address + class_.static_fields).value_or(0);
  if (statics == 0 || statics > kMostFields) return found;
  const auto all = instance_fields(of->canonical);
  const auto inherited = instance_fields(table->parent);
  const auto own = all > inherited ? all - inherited : 0;
  const auto list = memory_->pointer(of->address + class_.field_list).value_or(0);
  auto& metadata = modules_->at(table->module).metadata;
  if (own > kMostFields || list == 0 || !metadata) return found;
  for (std::uint32_t i = own; i < own + statics; ++i) {
    const auto field = memory_->get<Field>(list + i * sizeof(Field));
    if (!field || field->table != of->canonical || (field->token_and_flags & kStatic) == 0) break;
    StaticOf one{.name = metadata->field_name(kFieldDef | (field->token_and_flags & 0xffffff)),
                 .offset = field->offset_and_type & 0x7ffffff,
                 .element_type = static_cast<std::uint8_t>(field->offset_and_type >> 27)};
    one.of_thread = (field->token_and_flags & kThreadStatic) != 0;
    one.in_file = (field->token_and_flags & kInFile) != 0;
    if (!one.name.empty()) found.push_back(std::move(one));
  }
  return found;
}

std::string Types::text_of_string(std::uint64_t object) {
  const auto table = memory_->pointer(object);
  if (!table || string_table_ == 0 || (*table & ~object_bits_) != string_table_) return {};
  const auto length = memory_->get<std::uint32_t>(object + string_length_);
  if (!length || *length > kMostText) return {};
  return memory_->text16(object + string_chars_, *length);
}

SignatureNames Types::names_in(Module& module) {
  SignatureNames names;
  names.type = [&module](std::uint32_t token) -> std::string {
    if (!module.metadata) return "?";
    if (token >> 24 == Metadata::kTypeSpec) return "?";
    auto name = module.metadata->own_name(token);
    return name.empty() ? "?" : name;
  };
  names.handle = [this](std::uint64_t handle) { return name(handle); };
  return names;
}

}  // namespace clrscope::inspect
