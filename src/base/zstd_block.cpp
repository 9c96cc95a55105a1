#include "base/zstd_block.h"

#include <zstd.h>

#include <memory>

namespace clrscope {
namespace {

struct FreeZstdContext {
  void operator()(ZSTD_CCtx* context) const { ZSTD_freeCCtx(context); }
  void operator()(ZSTD_DCtx* context) const { ZSTD_freeDCtx(context); }
};

}  // namespace

std::string zstd_block(Bytes plain, int level) {
  thread_local const std::unique_ptr<ZSTD_CCtx, FreeZstdContext> context{ZSTD_createCCtx()};
  CHECK(context);
  ZSTD_CCtx_reset(context.get(), ZSTD_reset_session_and_parameters);
  ZSTD_CCtx_setParameter(context.get(), ZSTD_c_compressionLevel, level);
  ZSTD_CCtx_setParameter(context.get(), ZSTD_c_checksumFlag, 1);
  std::string out(ZSTD_compressBound(plain.size()), '\0');
  const auto size =
      ZSTD_compress2(context.get(), out.data(), out.size(), plain.data(), plain.size());
  CHECK(!ZSTD_isError(size));  // the room is enough for any input
  out.resize(size);
  return out;
}

Result<std::string> read_zstd_block(Bytes block, std::uint64_t limit) {
  const auto claimed = ZSTD_getFrameContentSize(block.data(), block.size());
  if (claimed == ZSTD_CONTENTSIZE_ERROR || claimed == ZSTD_CONTENTSIZE_UNKNOWN)
    return fail(Errc::kCorrupt, "{} bytes are not a zstd frame of known size", block.size());
  if (claimed > limit)
    return fail(Errc::kTooLarge, "a zstd frame of {} bytes, at most {} are allowed", claimed,
                limit);
  thread_local const std::unique_ptr<ZSTD_DCtx, FreeZstdContext> context{ZSTD_createDCtx()};
  CHECK(context);
  std::string out(claimed, '\0');
  const auto size =
      ZSTD_decompressDCtx(context.get(), out.data(), out.size(), block.data(), block.size());
  if (ZSTD_isError(size) || size != claimed)
    return fail(Errc::kCorrupt, "damaged zstd frame: {}",
                ZSTD_isError(size) ? ZSTD_getErrorName(size) : "wrong size");
  return out;
}

}  // namespace clrscope
