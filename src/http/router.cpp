#include "http/router.h"

#include <algorithm>

#include "base/text.h"

namespace clrscope::http {
namespace {

bool is_brace(std::string_view part) { return part.starts_with('{'); }

std::vector<std::string_view> parts_of(std::string_view path) {
  if (path.starts_with('/')) path.remove_prefix(1);
  if (path.ends_with('/')) path.remove_suffix(1);
  return split(path, '/');
}

bool fits(const std::vector<std::string_view>& pattern,
          const std::vector<std::string_view>& parts) {
  if (pattern.size() != parts.size()) return false;
  for (std::size_t i = 0; i < parts.size(); ++i)
    if (is_brace(pattern[i]) ? parts[i].empty() : pattern[i] != parts[i]) return false;
  return true;
}

}  // namespace

Router::Router(std::span<const Routes> groups) {
  for (const auto& group : groups)
    for (const auto& route : group) {
      routes_.push_back(&route);
      patterns_.push_back({&route, parts_of(route.path)});
    }
  std::ranges::stable_sort(patterns_, {}, [](const Pattern& pattern) {
    return std::ranges::count_if(pattern.parts, is_brace);
  });
}

Router::Match Router::find(std::string_view method, std::string_view path) const {
  const auto parts = parts_of(path);
  const auto wanted = method == "HEAD" ? std::string_view{"GET"} : method;
  Match match;
  for (const auto& pattern : patterns_) {
    if (!fits(pattern.parts, parts)) continue;
    if (pattern.route->method != wanted) {
      if (match.allowed.find(pattern.route->method) == std::string::npos)
        match.allowed += (match.allowed.empty() ? "" : ", ") + std::string{pattern.route->method};
      continue;
    }
    match.route = pattern.route;
    for (std::size_t i = 0; i < parts.size(); ++i)
      if (is_brace(pattern.parts[i])) match.values.emplace_back(parts[i]);
    return match;
  }
  return match;
}

}  // namespace clrscope::http
