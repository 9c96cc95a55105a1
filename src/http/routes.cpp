#include <algorithm>

#include "base/text.h"
#include "http/answer.h"
#include "http/route.h"

namespace clrscope::http {

#define ROUTES(name) extern const Routes name##_routes;
#include "http/routes.inc"
#undef ROUTES

std::span<const Routes> route_groups() {
  static const Routes kAll[] = {
#define ROUTES(name) name##_routes,
#include "http/routes.inc"
#undef ROUTES
  };
  return kAll;
}

Load load_of(const Route& route, std::string_view type) {
  const auto live = split(route.live_types, ' ');
  if (!type.empty() && std::ranges::find(live, type) != live.end()) return Load::kStream;
  const bool light = route.load == Load::kLight || route.load == Load::kHealth;
  return light && type == kHtml ? Load::kRequest : route.load;
}

}  // namespace clrscope::http
