#include "http/scope.h"

namespace clrscope::http {
namespace {

constexpr Scope kAll[] = {Scope::kMetrics, Scope::kRead, Scope::kTrace, Scope::kMemory,
                          Scope::kAdmin};

}  // namespace

std::string_view name_of(Scope scope) {
  switch (scope) {
    case Scope::kOpen:
      return "open";
    case Scope::kMetrics:
      return "metrics";
    case Scope::kRead:
      return "read";
    case Scope::kTrace:
      return "trace";
    case Scope::kMemory:
      return "memory";
    case Scope::kAdmin:
      break;
  }
  return "admin";
}

std::optional<Scope> parse_scope(std::string_view name) {
  for (const auto scope : kAll)
    if (name == name_of(scope)) return scope;
  return std::nullopt;
}

std::string text_of(ScopeSet scopes) {
  std::string out;
  for (const auto scope : kAll) {
    if ((scopes.bits() & static_cast<std::uint8_t>(scope)) == 0) continue;
    if (!out.empty()) out += ',';
    out += name_of(scope);
  }
  return out;
}

}  // namespace clrscope::http
