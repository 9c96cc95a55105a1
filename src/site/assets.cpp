#include "site/assets.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/inflate.h"
#include "base/text.h"

// assets.inc is made by web/build.mjs, the symbols stand in assets.S beside it.
extern "C" {
#define ASSET(number, path, mime, etag, plain_size, gzip) \
  extern const std::uint8_t clrscope_asset_##number[];    \
  extern const std::uint8_t clrscope_asset_##number##_end[];
#include <assets.inc>
#undef ASSET
}

namespace clrscope::site {
namespace {

constexpr std::size_t kGzipHead = 10;  // no name, no comment: node's zlib writes neither
constexpr std::size_t kGzipTail = 8;

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

}  // namespace

std::span<const Asset> assets() {
  static constexpr Asset kAll[] = {
#define ASSET(number, path, mime, etag, plain_size, gzip) \
  {path, mime, etag, clrscope_asset_##number, clrscope_asset_##number##_end, plain_size, gzip},
#include <assets.inc>
#undef ASSET
  };
  return kAll;
}

const Asset* find_asset(std::string_view path) {
  const auto all = assets();
  const auto found =
      std::find_if(all.begin(), all.end(), [&](const Asset& one) { return one.path == path; });
  return found == all.end() ? nullptr : &*found;
}

Result<std::string> plain_content(const Asset& one) {
  const auto stored = one.stored();
  if (!one.gzip) return std::string{reinterpret_cast<const char*>(stored.data()), stored.size()};
  CHECK(stored.size() > kGzipHead + kGzipTail);
  const auto packed = stored.subspan(kGzipHead, stored.size() - kGzipHead - kGzipTail);
  const auto plain = TRY(inflate_piece(Packing::kDeflate, packed, one.plain_size));
  return std::string{reinterpret_cast<const char*>(plain.data()), plain.size()};
}

Result<net::HttpResponse> asset_answer(const net::HttpRequest& request, const std::string& path) {
  const auto* asset = path.starts_with("templates/") ? nullptr : find_asset(path);
  if (!asset) return fail(Errc::kNotFound, "there is no /assets/{}", path);
  const auto etag = fmt::format("\"{}\"", asset->etag);
  // Whoever names the content by its etag never gets another; all else is asked for again.
  const bool named = request.parameter("v") == asset->etag;
  net::HttpResponse response{.type = std::string{asset->mime}};
  response.fields = {{"ETag", etag},
                     {"Vary", "Accept-Encoding"},
                     {"Cache-Control", named ? "public, max-age=31536000, immutable" : "no-cache"}};
  if (path.starts_with("speedscope/"))
    response.fields.push_back({"Content-Security-Policy", kSpeedscopePolicy});
  if (request.field("If-None-Match") == etag) {
    response.status = 304;
    return response;
  }
  if (asset->gzip && takes_gzip(request)) {
    response.fields.push_back({"Content-Encoding", "gzip"});
    response.body.assign(reinterpret_cast<const char*>(asset->begin), asset->stored().size());
  } else {
    response.body = TRY(plain_content(*asset));
  }
  return response;
}

}  // namespace clrscope::site
