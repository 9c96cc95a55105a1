#include "inspect/contract/methods.h"

#include <array>

namespace clrscope::inspect {
namespace {

constexpr std::size_t kMostMethods = 1 << 18;
constexpr std::uint32_t kMostSignature = 4096;
constexpr std::uint32_t kMethodDef = 0x06000000;

enum Classification : std::uint16_t { kMask = 7, kArray = 4, kDynamic = 7 };
constexpr std::uint32_t kIsMadeByProgram = 0x4000;  // System.Reflection.Emit.DynamicMethod

}  // namespace

Result<Methods> Methods::open(Memory& memory, const Descriptor& descriptor, Modules& modules,
                              Types& types) {
  TRY(descriptor.require("RuntimeTypeSystem", 1));
  Methods made{memory, modules, types};
  Needs needs{descriptor};
  made.method_ = {.chunk_index = needs.field("MethodDesc", "ChunkIndex"),
                  .flags = needs.field("MethodDesc", "Flags"),
                  .token_rest = needs.field("MethodDesc", "Flags3AndTokenRemainder"),
                  .slot = needs.field("MethodDesc", "Slot")};
  made.chunk_ = {.size = needs.size("MethodDescChunk"),
                 .table = needs.field("MethodDescChunk", "MethodTable"),
                 .token_range = needs.field("MethodDescChunk", "FlagsAndTokenRange")};
  made.dynamic_ = {.signature = needs.field("StoredSigMethodDesc", "Sig"),
                   .signature_size = needs.field("StoredSigMethodDesc", "cSig"),
                   .flags = needs.field("StoredSigMethodDesc", "ExtendedFlags"),
                   .name = needs.field("DynamicMethodDesc", "MethodName")};
  made.virtuals_ = needs.field("MethodTable", "NumVirtuals");
  made.alignment_ = needs.number("MethodDescAlignment");
  made.token_rest_bits_ = needs.number("MethodDescTokenRemainderBitCount");
  TRY(needs.met());
  if (made.token_rest_bits_ < 8 || made.token_rest_bits_ > 16)
    return fail(Errc::kUnsupported, "method tokens with {} remaining bits are not supported",
                made.token_rest_bits_);
  return made;
}

const MethodName& Methods::at(std::uint64_t method_desc) {
  if (const auto known = known_.find(method_desc); known != known_.end()) return known->second;
  if (known_.size() >= kMostMethods) known_.clear();
  return known_[method_desc] = make(method_desc);
}

MethodName Methods::make(std::uint64_t method_desc) {
  const auto index = memory_->get<std::uint8_t>(method_desc + method_.chunk_index);
  const auto flags = memory_->get<std::uint16_t>(method_desc + method_.flags);
  const auto rest = memory_->get<std::uint16_t>(method_desc + method_.token_rest);
  if (method_desc % 8 != 0 || !index || !flags || !rest) return {};
  const auto chunk = method_desc - chunk_.size - *index * alignment_;
  const auto table = memory_->pointer(chunk + chunk_.table);
  const auto range = memory_->get<std::uint16_t>(chunk + chunk_.token_range);
  if (!table || !range || !types_->is_method_table(*table)) return {};
  auto& module = modules_->at(types_->module_of(*table));
  if ((*flags & kMask) == kDynamic) return dynamic(method_desc, module);
  if ((*flags & kMask) == kArray) return of_array(method_desc, *table);

  MethodName made;
  const auto rest_mask = (1U << token_rest_bits_) - 1;
  const auto range_mask = (1U << (24 - token_rest_bits_)) - 1;
  made.token = kMethodDef | (*range & range_mask) << token_rest_bits_ | (*rest & rest_mask);
  made.module = module.path;
  if (!module.metadata) return {};
  const auto name = module.metadata->method_name(made.token);
  if (name.empty()) return {};
  const auto names = types_->names_in(module);
  made.name = types_->name(*table) + '.' + name +
              arguments_of_signature(module.metadata->method_signature(made.token), names);
  return made;
}

MethodName Methods::dynamic(std::uint64_t method_desc, Module& module) {
  const auto text = memory_->pointer(method_desc + dynamic_.name);
  const auto flags = memory_->get<std::uint32_t>(method_desc + dynamic_.flags);
  const auto signature = memory_->pointer(method_desc + dynamic_.signature);
  const auto size = memory_->get<std::uint32_t>(method_desc + dynamic_.signature_size);
  if (!text || !flags || !signature || !size) return {};
  MethodName made;
  made.made_by_program = (*flags & kIsMadeByProgram) != 0;
  made.name = made.made_by_program ? "dynamicClass." : "ILStubClass.";
  made.name += *text != 0 ? memory_->text(*text) : "?";
  if (*size <= kMostSignature && *signature != 0)
    made.name +=
        arguments_of_signature(memory_->block(*signature, *size), types_->names_in(module));
  return made;
}

// The contracts do not tell of it: the resolver's address follows the name. A resolver has, after
// its virtual functions, its method, the next resolver and a handle to its object.
std::uint64_t Methods::dynamic_object(std::uint64_t method_desc) {
  if (!at(method_desc).made_by_program) return 0;
  const auto resolver = memory_->pointer(method_desc + dynamic_.name + 8);
  if (!resolver || memory_->pointer(*resolver + 8) != method_desc) return 0;
  const auto handle = memory_->pointer(*resolver + 24);
  return handle ? memory_->pointer(*handle).value_or(0) : 0;
}

// They have no tokens: the runtime makes them for each array type, in this order.
MethodName Methods::of_array(std::uint64_t method_desc, std::uint64_t table) {
  static constexpr std::array<const char*, 4> kNames{"Get", "Set", "Address", ".ctor"};
  const auto slot = memory_->get<std::uint16_t>(method_desc + method_.slot);
  const auto virtuals = memory_->get<std::uint16_t>(table + virtuals_);
  if (!slot || !virtuals || *slot < *virtuals) return {};
  MethodName made;
  const auto number = std::min<std::size_t>(*slot - *virtuals, kNames.size() - 1);
  made.name = types_->name(table) + '.' + kNames[number] + "()";
  return made;
}

}  // namespace clrscope::inspect
