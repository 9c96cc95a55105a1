// The files of the pages, as they lie in the binary: what web/build.mjs made of web/.
//
// Most are kept compressed and are sent so to whoever takes gzip, which is every browser.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "base/result.h"
#include "net/http_message.h"

namespace clrscope::site {

struct Asset {
  std::string_view path;  // "app.js", "speedscope/index.html"
  std::string_view mime;
  std::string_view etag;  // without quotes; of the plain content
  const std::uint8_t* begin = nullptr;
  const std::uint8_t* end = nullptr;
  std::size_t plain_size = 0;
  bool gzip = false;  // what lies between begin and end is compressed

  Bytes stored() const { return {begin, end}; }
};

std::span<const Asset> assets();                      // by path
const Asset* find_asset(std::string_view path);       // null: there is none
Result<std::string> plain_content(const Asset& one);  // uncompressed

// The answer of GET /assets/PATH. Assets hold no secrets and are given to anybody: the sign-in page
// needs them. Templates are not among them: they are not whole without what template.h puts in.
Result<net::HttpResponse> asset_answer(const net::HttpRequest& request, const std::string& path);

}  // namespace clrscope::site
