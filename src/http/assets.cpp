#include "http/assets.h"

#include <algorithm>

#include "base/inflate.h"

// assets.inc is made by web/build.mjs, the symbols stand in assets.S beside it.
extern "C" {
#define ASSET(number, path, mime, etag, plain_size, gzip) \
  extern const std::uint8_t clrscope_asset_##number[];    \
  extern const std::uint8_t clrscope_asset_##number##_end[];
#include <assets.inc>
#undef ASSET
}

namespace clrscope::http {
namespace {

constexpr std::size_t kGzipHead = 10;  // no name, no comment: node's zlib writes neither
constexpr std::size_t kGzipTail = 8;

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

}  // namespace clrscope::http
