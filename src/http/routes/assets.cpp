// The files of the web app. They hold no secrets and are given to anybody: the sign-in page needs
// them. Templates are not among them: they are not whole without what template.h puts in.
#include "http/assets.h"

#include <fmt/format.h>

#include "base/text.h"
#include "http/answer.h"
#include "http/route.h"

namespace clrscope::http {
namespace {

bool takes_gzip(const net::HttpRequest& request) {
  const auto said = request.field("Accept-Encoding");
  if (!said) return false;
  for (const auto part : split(*said, ',')) {
    const auto word = trim(part);
    if (word == "gzip" || (word.starts_with("gzip;") && word.find("q=0") == std::string::npos))
      return true;
  }
  return false;
}

// Speedscope makes its styles at run time, reads WebAssembly, and loads the profile of its address.
constexpr const char* kSpeedscopePolicy =
    "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data: blob:; connect-src 'self' blob: data:; font-src 'self'; worker-src "
    "'self' "
    "blob:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

Result<HttpResponse> give(Call& call, const std::string& path) {
  const auto* asset = path.starts_with("templates/") ? nullptr : find_asset(path);
  if (!asset) return fail(Errc::kNotFound, "there is no /assets/{}", path);
  const auto etag = fmt::format("\"{}\"", asset->etag);
  // Whoever names the content by its etag never gets another; all else is asked for again.
  const bool named = call.text("v") == asset->etag;
  HttpResponse response{.type = std::string{asset->mime}};
  response.fields = {{"ETag", etag},
                     {"Vary", "Accept-Encoding"},
                     {"Cache-Control", named ? "public, max-age=31536000, immutable" : "no-cache"}};
  if (path.starts_with("speedscope/"))
    response.fields.push_back({"Content-Security-Policy", kSpeedscopePolicy});
  if (call.request().field("If-None-Match") == etag) {
    response.status = 304;
    return response;
  }
  if (asset->gzip && takes_gzip(call.request())) {
    response.fields.push_back({"Content-Encoding", "gzip"});
    response.body.assign(reinterpret_cast<const char*>(asset->begin), asset->stored().size());
  } else {
    response.body = TRY(plain_content(*asset));
  }
  return response;
}

Result<HttpResponse> file(Call& call) { return give(call, call.path_value("file")); }
Result<HttpResponse> file_below(Call& call) {
  return give(call, call.path_value("folder") + "/" + call.path_value("file"));
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
