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

}  // namespace clrscope::http
