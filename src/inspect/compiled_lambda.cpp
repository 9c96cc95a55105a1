#include "inspect/compiled_lambda.h"

#include <algorithm>

#include "symbols/method_name.h"

namespace clrscope::inspect {
namespace {

constexpr std::uint32_t kMostTokens = 4096;
constexpr std::uint64_t kFirstElement = 16;
constexpr std::uint64_t kBoxed = 8;

// What its instructions refer to: a list whose elements are boxed handles and other things.
std::vector<std::uint64_t> tokens_of(Objects& objects, std::uint64_t dynamic_object) {
  auto resolver = dynamic_object;
  if (const auto behind = objects.reference(resolver, "_resolver")) resolver = behind;
  const auto scope = objects.reference(resolver, "m_scope");
  const auto list = objects.reference(scope, "m_tokens");
  const auto items = objects.reference(list, "_items");
  const auto size = std::min({objects.field<std::uint32_t>(list, "_size").value_or(0),
                              objects.length(items).value_or(0), kMostTokens});
  std::vector<std::uint64_t> tokens;
  for (std::uint32_t i = 0; i < size; ++i)
    if (const auto token = objects.memory().pointer(items + kFirstElement + i * std::uint64_t{8}))
      tokens.push_back(*token);
  return tokens;
}

// The runtime's handle of the method; 0: the token is of something else.
std::uint64_t method_of_token(Objects& objects, std::uint64_t token) {
  const auto type = objects.type_name(token);
  std::uint64_t info = 0;
  if (type == "System.RuntimeMethodHandle")
    info = objects.memory().pointer(token + kBoxed).value_or(0);
  if (type == "System.Reflection.Emit.GenericMethodInfo")
    info = objects.reference(token, "m_methodHandle");
  return objects.reference(info, "m_handle");
}

}  // namespace

// The last one: values for its parameters are made before it is called, by the application's
// methods too.
std::optional<MethodInfo> called_by_lambda(Objects& objects, RuntimeReader& reader,
                                           const MethodInfo& lambda) {
  if (lambda.dynamic_object == 0) return std::nullopt;
  const auto tokens = tokens_of(objects, lambda.dynamic_object);
  for (auto token = tokens.rbegin(); token != tokens.rend(); ++token) {
    const auto handle = method_of_token(objects, *token);
    if (handle == 0) continue;
    auto method = reader.method_of(handle);
    if (method && !method->module.empty() && !is_framework_module(method->module))
      return *std::move(method);
  }
  return std::nullopt;
}

}  // namespace clrscope::inspect
