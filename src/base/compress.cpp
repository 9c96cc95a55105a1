#include "base/compress.h"

#include <zstd.h>

#include <vector>

namespace clrscope {
namespace {

constexpr int kLevel = 3;
constexpr int kWindowLog = 20;  // 1 MiB: memory stays small, and blocks of a trace are alike anyway
constexpr std::size_t kPiece = 128 << 10;

struct FreeZstd {
  void operator()(ZSTD_CCtx* context) const { ZSTD_freeCCtx(context); }
};

}  // namespace

class Compressor::Impl {
 public:
  Impl() : context_(ZSTD_createCCtx()), out_(kPiece) {
    CHECK(context_);
    ZSTD_CCtx_setParameter(context_.get(), ZSTD_c_compressionLevel, kLevel);
    ZSTD_CCtx_setParameter(context_.get(), ZSTD_c_windowLog, kWindowLog);
    ZSTD_CCtx_setParameter(context_.get(), ZSTD_c_checksumFlag, 1);
  }

  Result<> step(Bytes bytes, ZSTD_EndDirective how, const OnBytes& on_bytes) {
    ZSTD_inBuffer in{bytes.data(), bytes.size(), 0};
    for (;;) {
      ZSTD_outBuffer out{out_.data(), out_.size(), 0};
      const auto rest = ZSTD_compressStream2(context_.get(), &out, &in, how);
      if (ZSTD_isError(rest))
        return fail(Errc::kSystem, "cannot compress: {}", ZSTD_getErrorName(rest));
      if (out.pos > 0) TRY(on_bytes(Bytes{out_}.first(out.pos)));
      const bool taken = in.pos == in.size;
      if (how == ZSTD_e_continue ? taken : taken && rest == 0) return {};
    }
  }

 private:
  std::unique_ptr<ZSTD_CCtx, FreeZstd> context_;
  std::vector<std::uint8_t> out_;
};

Compressor::Compressor() : impl_(std::make_unique<Impl>()) {}
Compressor::~Compressor() = default;
Compressor::Compressor(Compressor&&) noexcept = default;
Compressor& Compressor::operator=(Compressor&&) noexcept = default;

Result<> Compressor::add(Bytes bytes, const OnBytes& on_bytes) {
  return impl_->step(bytes, ZSTD_e_continue, on_bytes);
}
Result<> Compressor::flush(const OnBytes& on_bytes) {
  return impl_->step({}, ZSTD_e_flush, on_bytes);
}
Result<> Compressor::finish(const OnBytes& on_bytes) {
  return impl_->step({}, ZSTD_e_end, on_bytes);
}

}  // namespace clrscope
