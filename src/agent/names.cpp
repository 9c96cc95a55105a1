#include "agent/names.h"

namespace clrscope::agent {
namespace {

constexpr std::uint32_t kLongestPart = 512;  // UTF-16 units, with the terminating zero
constexpr unsigned kDeepestNesting = 8;
constexpr std::uint32_t kMostArguments = 16;

std::uint32_t shown(std::uint32_t length) { return length < kLongestPart ? length : kLongestPart; }

Id put_dynamic_method(ComObject* runtime, Id function, Text& out) {
  Id module = 0;
  const std::uint8_t* signature = nullptr;
  std::uint32_t size = 0, length = 0;
  char16_t name[kLongestPart];
  out.put("dynamic method ");
  if (call(runtime, info::kGetDynamicFunctionInfo, function, &module, &signature, &size,
           kLongestPart, &length, &name[0]) >= 0)
    out.put(name, shown(length));
  return function;
}

// Returns the owner of the name.
Id put_method(ComObject* runtime, Id function, Text& out) {
  std::int32_t dynamic = 0;
  if (call(runtime, info::kIsFunctionDynamic, function, &dynamic) >= 0 && dynamic != 0)
    return put_dynamic_method(runtime, function, out);
  Id type = 0, module = 0;
  Token token = 0;
  std::uint32_t arguments = 0;
  if (call(runtime, info::kGetFunctionInfo2, function, Id{0}, &type, &module, &token,
           std::uint32_t{0}, &arguments, static_cast<Id*>(nullptr)) < 0)
    return 0;
  auto* metadata = open_metadata(runtime, module);
  if (!metadata) return module;
  Token owner = 0;
  char16_t name[kLongestPart];
  std::uint32_t length = 0, attributes = 0, signature_size = 0, address = 0, flags = 0;
  const std::uint8_t* signature = nullptr;
  if (call(metadata, metadata::kGetMethodProps, token, &owner, &name[0], kLongestPart, &length,
           &attributes, &signature, &signature_size, &address, &flags) >= 0) {
    constexpr Token kModuleType = 0x0200'0001;
    if (owner != kModuleType) {
      put_type(metadata, owner, out);
      out.put('.');
    }
    out.put(name, shown(length));
  }
  release(metadata);
  return module;
}

// Element types of arrays that have no class of their own.
const char* primitive(std::uint32_t element) {
  constexpr const char* kNames[] = {"Void",   "Boolean", "Char",   "SByte",  "Byte",
                                    "Int16",  "UInt16",  "Int32",  "UInt32", "Int64",
                                    "UInt64", "Single",  "Double", "String"};
  return element >= 1 && element <= 14 ? kNames[element - 1] : nullptr;
}

Id put_type_of(ComObject* runtime, Id type, Text& out, unsigned depth) {
  std::uint32_t element = 0, rank = 0;
  Id base = 0;
  if (depth == 0) return 0;
  if (call(runtime, info::kIsArrayClass, type, &element, &base, &rank) == kOk) {
    Id owner = 0;
    if (base != 0) {
      owner = put_type_of(runtime, base, out, depth - 1);
    } else if (const auto* name = primitive(element)) {
      out.put("System.");
      out.put(name);
    }
    out.put('[');
    for (std::uint32_t i = 1; i < rank && i < 32; ++i) out.put(',');
    out.put(']');
    return owner;
  }
  Id module = 0, parent = 0;
  Token token = 0;
  std::uint32_t count = 0;
  Id arguments[kMostArguments];
  if (call(runtime, info::kGetClassIDInfo2, type, &module, &token, &parent, kMostArguments, &count,
           &arguments[0]) < 0)
    return 0;
  if (auto* metadata = open_metadata(runtime, module)) {
    put_type(metadata, token, out);
    release(metadata);
  }
  for (std::uint32_t i = 0; i < count && i < kMostArguments; ++i) {
    out.put(i == 0 ? '[' : ',');
    (void)put_type_of(runtime, arguments[i], out, depth - 1);
  }
  if (count > 0) out.put(']');
  return module;
}

Id put_whole_type(ComObject* runtime, Id type, Text& out) {
  return put_type_of(runtime, type, out, kDeepestNesting);
}

template <class Put>
std::uint32_t slot(ComObject* runtime, Recorder& recorder, Id id, Put put) {
  if (id == 0) return wire::kNoName;
  bool is_new = false;
  const auto at = recorder.slot_of(id, is_new);
  if (!is_new) return at;
  Text text;
  const auto owner = put(runtime, id, text);
  recorder.set_name(at, owner, text.data(), text.size());
  return at;
}

}  // namespace

ComObject* open_metadata(ComObject* runtime, Id module) {
  ComObject* found = nullptr;
  constexpr std::uint32_t kRead = 0;
  if (call(runtime, info::kGetModuleMetaData, module, kRead, &kMetadataImport2, &found) < 0)
    return nullptr;
  return found;
}

void put_type(ComObject* metadata, Token type, Text& out) {
  Token chain[kDeepestNesting];
  unsigned depth = 0;
  for (Token at = type; depth < kDeepestNesting;) {
    chain[depth++] = at;
    Token outer = 0;
    if (call(metadata, metadata::kGetNestedClassProps, at, &outer) < 0 || outer == 0 || outer == at)
      break;
    at = outer;
  }
  for (unsigned i = depth; i-- > 0;) {
    char16_t name[kLongestPart];
    std::uint32_t length = 0, flags = 0;
    Token base = 0;
    if (call(metadata, metadata::kGetTypeDefProps, chain[i], &name[0], kLongestPart, &length,
             &flags, &base) < 0)
      continue;
    out.put(name, shown(length));
    if (i != 0) out.put('+');
  }
}

std::uint32_t method_slot(ComObject* runtime, Recorder& recorder, Id function) {
  return slot(runtime, recorder, function, put_method);
}

std::uint32_t type_slot(ComObject* runtime, Recorder& recorder, Id type) {
  return slot(runtime, recorder, type, put_whole_type);
}

std::uint32_t type_slot(ComObject* runtime, Recorder& recorder, Id type, const std::uint8_t* name,
                        std::uint32_t units) {
  return slot(runtime, recorder, type, [&](ComObject* clr, Id id, Text& out) {
    char16_t copy[kLongestPart];
    const auto count = shown(units);
    __builtin_memcpy(copy, name, count * sizeof(char16_t));
    out.put(copy, count);
    // Only to forget it when its module is unloaded; arrays have none of their own.
    Id module = 0, parent = 0;
    Token token = 0;
    std::uint32_t arguments = 0;
    if (call(clr, info::kGetClassIDInfo2, id, &module, &token, &parent, std::uint32_t{0},
             &arguments, static_cast<Id*>(nullptr)) < 0)
      return Id{0};
    return module;
  });
}

}  // namespace clrscope::agent
