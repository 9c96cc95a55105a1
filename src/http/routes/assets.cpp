// The files of the web app.
#include "site/assets.h"

#include "http/route.h"

namespace clrscope::http {
namespace {

Result<HttpResponse> file(Call& call) {
  return site::asset_answer(call.request(), call.path_value("file"));
}
Result<HttpResponse> file_below(Call& call) {
  return site::asset_answer(call.request(),
                            call.path_value("folder") + "/" + call.path_value("file"));
}

constexpr Route kRoutes[] = {
    {.method = "GET",
     .path = "/assets/{file}",
     .scope = Scope::kOpen,
     .summary = "A file of the pages",
     .answer = file,
     .runs = Runs::kAtOnce,
     .load = Load::kLight,
     .hidden = true},
    {.method = "GET",
     .path = "/assets/{folder}/{file}",
     .scope = Scope::kOpen,
     .summary = "A file of the pages",
     .answer = file_below,
     .runs = Runs::kAtOnce,
     .load = Load::kLight,
     .hidden = true},
};

}  // namespace

extern constexpr Routes assets_routes{kRoutes};

}  // namespace clrscope::http
