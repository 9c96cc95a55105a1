// Finds methods whose code can be part of a helper of the runtime.
//
// The runtime compiles the inliners of a chosen method again, too. A helper of the JIT compiler
// must not be one of them: .NET 9 ends with a fault when it compiles a caller meanwhile
// (dotnet/runtime#112636). The runtime does not tell an attached agent what was inlined where. So
// all that helpers call, and that is small enough to be inlined, stays as it is.
#include "agent/names.h"
#include "agent/rejit.h"
#include "agent/tokens.h"
#include "il/opcodes.h"

namespace clrscope::agent {
namespace {

constexpr std::uint32_t kRid = 0x00ff'ffff, kKind = 0xff00'0000;
constexpr std::uint32_t kMethodDef = 0x0600'0000, kMemberRef = 0x0a00'0000,
                        kMethodSpec = 0x2b00'0000, kTypeDef = 0x0200'0000, kTypeSpec = 0x1b00'0000;
constexpr std::uint32_t kNoInlining = 0x8, kAggressiveInlining = 0x100;
constexpr std::uint32_t kLargestInlined = 100;  // bytes of IL, in the JIT compiler

// The type definition of "A<B>" in this module; 0: something else.
Token generic_type(ComObject* metadata, Token type) {
  const std::uint8_t* blob = nullptr;
  std::uint32_t size = 0;
  if ((type & kKind) == kTypeDef) return type;
  if ((type & kKind) != kTypeSpec ||
      call(metadata, metadata::kGetTypeSpecFromToken, type, &blob, &size) < 0)
    return 0;
  constexpr std::uint8_t kGenericInstance = 0x15;
  if (size < 6 || blob[0] != kGenericInstance) return 0;
  std::uint32_t coded = blob[2];
  if ((coded & 0xc0) == 0x80)
    coded = (coded & 0x3f) << 8 | blob[3];
  else if ((coded & 0x80) != 0)
    coded =
        (coded & 0x1f) << 24 | static_cast<std::uint32_t>(blob[3] << 16 | blob[4] << 8) | blob[5];
  return (coded & 3) == 0 ? kTypeDef | coded >> 2 : 0;
}

// Calls take(method) with what a call of this token can mean in the same module.
template <class Take>
void for_each_callee(ComObject* metadata, Token token, Take take) {
  const std::uint8_t* blob = nullptr;
  std::uint32_t size = 0;
  if ((token & kKind) == kMethodSpec) {
    Token parent = 0;
    if (call(metadata, metadata::kGetMethodSpecProps, token, &parent, &blob, &size) < 0) return;
    token = parent;
  }
  if ((token & kKind) == kMethodDef) return take(token);
  if ((token & kKind) != kMemberRef) return;
  Token type = 0;
  char16_t name[256];
  std::uint32_t length = 0;
  if (call(metadata, metadata::kGetMemberRefProps, token, &type, &name[0], std::uint32_t{256},
           &length, &blob, &size) < 0 ||
      length > 256)
    return;
  if (const auto owner = generic_type(metadata, type); owner != 0)
    for_each_token(
        metadata,
        [&](void** position, Token* tokens, std::uint32_t count, std::uint32_t* got) {
          return call(metadata, metadata::kEnumMethodsWithName, position, owner, &name[0], tokens,
                      count, got);
        },
        take);
}

}  // namespace

bool Rejit::is_core_library(const char16_t* path, std::uint32_t size) {
  constexpr char16_t kName[] = u"System.Private.CoreLib.dll";
  constexpr std::uint32_t kSize = sizeof kName / sizeof kName[0];  // with the zero at its end
  if (size < kSize) return false;
  for (std::uint32_t i = 0; i < kSize; ++i)
    if (path[size - kSize + i] != kName[i]) return false;
  return true;
}

bool Rejit::is_in_helper(Id module, Token method) const {
  const auto rid = method & kRid;
  return module == helpers_of_ && rid < kMostCoreMethods && memory_->in_helper[rid];
}

void Rejit::find_helpers(ComObject* runtime, ComObject* metadata, Id module) {
  if (helpers_of_ == module) return;
  helpers_of_ = module;
  auto& memory = *memory_;
  std::uint32_t count = 0;
  const auto add = [&](Token method) {
    const auto rid = method & kRid;
    if (rid >= kMostCoreMethods || memory.in_helper[rid]) return;
    memory.in_helper[rid] = true;
    memory.helpers[count++] = method;
  };
  for_each_token(
      metadata,
      [&](void** position, Token* tokens, std::uint32_t most, std::uint32_t* got) {
        return call(metadata, metadata::kEnumTypeDefs, position, tokens, most, got);
      },
      [&](Token type) {
        Text type_name;
        put_type(metadata, type, type_name);
        type_name.put('.');
        for_each_token(
            metadata,
            [&](void** position, Token* tokens, std::uint32_t most, std::uint32_t* got) {
              return call(metadata, metadata::kEnumMethods, position, type, tokens, most, got);
            },
            [&](Token method) {
              Text name = type_name;
              Token owner = 0;
              char16_t own[256];
              std::uint32_t length = 0, attributes = 0, size = 0, address = 0, flags = 0;
              const std::uint8_t* signature = nullptr;
              if (call(metadata, metadata::kGetMethodProps, method, &owner, &own[0],
                       std::uint32_t{256}, &length, &attributes, &signature, &size, &address,
                       &flags) < 0)
                return;
              name.put(own, length < 256 ? length : 256);
              if (is_runtime_helper(name.data(), name.size())) add(method);
            });
      });
  const auto add_inlined = [&](Token method) {
    Token owner = 0;
    std::uint32_t length = 0, attributes = 0, size = 0, address = 0, flags = 0;
    const std::uint8_t* bytes = nullptr;
    if (call(metadata, metadata::kGetMethodProps, method, &owner, static_cast<char16_t*>(nullptr),
             std::uint32_t{0}, &length, &attributes, &bytes, &size, &address, &flags) < 0 ||
        address == 0 || (flags & kNoInlining) != 0)
      return;
    il::Body body;
    if (call(runtime, info::kGetILFunctionBody, module, method, &bytes, &size) < 0 || !bytes ||
        il::parse_body(bytes, size, body) != il::Reason::kNone)
      return;
    if (body.code_size <= kLargestInlined || (flags & kAggressiveInlining) != 0) add(method);
  };
  for (std::uint32_t next = 0; next < count; ++next) {
    const std::uint8_t* bytes = nullptr;
    std::uint32_t size = 0;
    il::Body body;
    if (call(runtime, info::kGetILFunctionBody, module, memory.helpers[next], &bytes, &size) < 0 ||
        !bytes || il::parse_body(bytes, size, body) != il::Reason::kNone)
      continue;
    il::Instruction one;
    for (std::uint32_t at = 0;
         at < body.code_size && il::decode(body.code, body.code_size, at, one); at += one.size)
      if (one.opcode == il::kCall || one.opcode == il::kCallVirt || one.opcode == il::kNewObj)
        for_each_callee(metadata, il::read32(body.code + one.operand), add_inlined);
  }
}

}  // namespace clrscope::agent
