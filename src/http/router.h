// From a method and a path to a route. Built once; any thread may ask.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "http/route.h"

namespace clrscope::http {

class Router {
 public:
  explicit Router(std::span<const Routes> groups);

  struct Match {
    const Route* route = nullptr;
    std::vector<std::string> values{};  // of the braces
    std::string allowed{};              // no route, but other methods have one: "GET, POST"
  };
  // `path` is decoded. HEAD is answered as GET. A fixed path wins over one with braces.
  Match find(std::string_view method, std::string_view path) const;
  const std::vector<const Route*>& routes() const { return routes_; }

 private:
  struct Pattern {
    const Route* route;
    std::vector<std::string_view> parts;  // "{id}" takes any one part
  };
  std::vector<Pattern> patterns_;
  std::vector<const Route*> routes_;
};

}  // namespace clrscope::http
