#include "agent/attributes.h"

#include "agent/names.h"
#include "agent/tokens.h"

namespace clrscope::agent {
namespace {

using Marks = MethodFilter::Marks;

constexpr unsigned kDeepestNesting = 16;
constexpr std::uint32_t kTypeReference = 0x0100'0000, kTypeDefinition = 0x0200'0000;
constexpr std::uint32_t kMethodDefinition = 0x0600'0000, kMemberReference = 0x0a00'0000;

std::uint32_t table_of(Token token) { return token & 0xff00'0000; }

// The type whose constructor this is; 0: a generic one.
Token type_of_constructor(ComObject* metadata, Token constructor) {
  Token type = 0;
  std::uint32_t length = 0, attributes = 0, size = 0, address = 0, flags = 0;
  const std::uint8_t* signature = nullptr;
  auto* const no_name = static_cast<char16_t*>(nullptr);
  if (table_of(constructor) == kMemberReference &&
      call(metadata, metadata::kGetMemberRefProps, constructor, &type, no_name, std::uint32_t{0},
           &length, &signature, &size) >= 0)
    return type;
  if (table_of(constructor) == kMethodDefinition &&
      call(metadata, metadata::kGetMethodProps, constructor, &type, no_name, std::uint32_t{0},
           &length, &attributes, &signature, &size, &address, &flags) >= 0)
    return type;
  return 0;
}

void put_attribute_type(ComObject* metadata, Token type, Text& out) {
  if (table_of(type) == kTypeDefinition) return put_type(metadata, type, out);
  if (table_of(type) != kTypeReference) return;
  Token scope = 0;
  char16_t name[512];
  std::uint32_t length = 0;
  if (call(metadata, metadata::kGetTypeRefProps, type, &scope, &name[0], std::uint32_t{512},
           &length) >= 0)
    out.put(name, length < 512 ? length : 512);
}

// Whether the data of an attribute begins with this text: the one argument of its constructor.
bool begins_with_text(const std::uint8_t* data, std::uint32_t size, const Text& text) {
  constexpr std::uint32_t kProlog = 2;
  if (!data || size < kProlog + 2) return false;
  std::uint32_t at = kProlog, length = data[at++];
  if (length >= 0x80) length = (length & 0x3f) << 8 | data[at++];
  if (length < text.size() || at + text.size() > size) return false;
  // An assembly may follow the name of a type.
  if (length > text.size() && at + text.size() < size && data[at + text.size()] != ',')
    return false;
  for (std::uint32_t i = 0; i < text.size(); ++i)
    if (data[at + i] != static_cast<std::uint8_t>(text.data()[i])) return false;
  return true;
}

// The async method that this state machine was made of, among those of the type around it; 0: none.
Token async_method_of(ComObject* metadata, Token outer, const Text& machine) {
  static constexpr const char16_t* kNames[] = {
      u"System.Runtime.CompilerServices.AsyncStateMachineAttribute",
      u"System.Runtime.CompilerServices.AsyncIteratorStateMachineAttribute",
      u"System.Runtime.CompilerServices.IteratorStateMachineAttribute"};
  Token found = 0;
  for_each_token(
      metadata,
      [&](void** position, Token* tokens, std::uint32_t count, std::uint32_t* got) {
        return call(metadata, metadata::kEnumMethods, position, outer, tokens, count, got);
      },
      [&](Token method) {
        for (const auto* name : kNames) {
          const std::uint8_t* data = nullptr;
          std::uint32_t size = 0;
          if (found == 0 &&
              call(metadata, metadata::kGetCustomAttributeByName, method, name, &data, &size) ==
                  kOk &&
              begins_with_text(data, size, machine))
            found = method;
        }
      });
  return found;
}

}  // namespace

Marks marks_on(ComObject* metadata, Token token, const MethodFilter& filter) {
  Marks marks = 0;
  for_each_token(
      metadata,
      [&](void** position, Token* tokens, std::uint32_t count, std::uint32_t* got) {
        return call(metadata, metadata::kEnumCustomAttributes, position, token, Token{0}, tokens,
                    count, got);
      },
      [&](Token attribute) {
        Token owner = 0, constructor = 0;
        const void* data = nullptr;
        std::uint32_t size = 0;
        if (call(metadata, metadata::kGetCustomAttributeProps, attribute, &owner, &constructor,
                 &data, &size) < 0)
          return;
        Text name;
        put_attribute_type(metadata, type_of_constructor(metadata, constructor), name);
        marks |= filter.marks_of(name.data(), name.size());
      });
  return marks;
}

Marks marks_on_type(ComObject* metadata, Token type, const MethodFilter& filter) {
  Marks marks = 0;
  for (unsigned depth = 0; depth < kDeepestNesting; ++depth) {
    Text name;
    put_type(metadata, type, name);
    const bool of_compiler = is_compiler_type(name.data(), name.size());
    if (!of_compiler) marks |= marks_on(metadata, type, filter);
    Token outer = 0;
    if (call(metadata, metadata::kGetNestedClassProps, type, &outer) < 0 || outer == 0 ||
        outer == type)
      break;
    if (of_compiler)
      if (const auto method = async_method_of(metadata, outer, name); method != 0)
        marks |= marks_on(metadata, method, filter);
    type = outer;
  }
  return marks;
}

}  // namespace clrscope::agent
