#include <algorithm>

#include "base/text.h"
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
  const bool streams = !type.empty() && std::ranges::find(live, type) != live.end();
  return streams ? Load::kStream : route.load;
}

}  // namespace clrscope::http
