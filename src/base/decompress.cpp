#include "base/decompress.h"

#include <zlib.h>
#include <zstd.h>

#include <array>
#include <vector>

namespace clrscope {
namespace {

constexpr std::array<std::uint8_t, 4> kZstdMagic = {0x28, 0xb5, 0x2f, 0xfd};
constexpr std::array<std::uint8_t, 2> kGzipMagic = {0x1f, 0x8b};
constexpr std::size_t kPiece = 256 << 10;
constexpr std::size_t kGzipChunk = 1 << 30;  // zlib counts in 32 bits
constexpr int kMaxWindowLog = 27;            // 128 MiB, what zstd --long takes without being asked

bool begins(Bytes in, Bytes magic) {
  return in.size() >= magic.size() && std::equal(magic.begin(), magic.end(), in.begin());
}

struct FreeZstd {
  void operator()(ZSTD_DStream* stream) const { ZSTD_freeDStream(stream); }
};

}  // namespace

class Decompressor::Impl {
 public:
  ~Impl() {
    if (kind_ == Kind::kGzip) inflateEnd(&gzip_);
  }

  Result<> feed(Bytes chunk, const OnBytes& on_bytes) {
    if (kind_ != Kind::kUnknown) return pass(chunk, on_bytes);
    head_.insert(head_.end(), chunk.begin(), chunk.end());
    if (head_.size() < kZstdMagic.size()) return {};
    return start(on_bytes);
  }

  Result<bool> finish(const OnBytes& on_bytes) {
    if (kind_ == Kind::kUnknown && !head_.empty()) TRY(start(on_bytes));
    return kind_ == Kind::kUnknown || kind_ == Kind::kPlain || at_frame_end_;
  }

  bool compressed() const { return kind_ == Kind::kZstd || kind_ == Kind::kGzip; }

 private:
  enum class Kind { kUnknown, kPlain, kZstd, kGzip };

  Result<> start(const OnBytes& on_bytes) {
    kind_ = Kind::kPlain;
    if (begins(head_, kZstdMagic)) {
      zstd_.reset(ZSTD_createDStream());
      CHECK(zstd_);
      ZSTD_DCtx_setParameter(zstd_.get(), ZSTD_d_windowLogMax, kMaxWindowLog);
      kind_ = Kind::kZstd;
    } else if (begins(head_, kGzipMagic)) {
      CHECK(inflateInit2(&gzip_, 15 + 16) == Z_OK);
      kind_ = Kind::kGzip;
    }
    if (compressed()) out_.resize(kPiece);
    const auto head = std::move(head_);
    return pass(head, on_bytes);
  }

  Result<> pass(Bytes chunk, const OnBytes& on_bytes) {
    switch (kind_) {
      case Kind::kZstd:
        return unzstd(chunk, on_bytes);
      case Kind::kGzip:
        for (; chunk.size() > kGzipChunk; chunk = chunk.subspan(kGzipChunk))
          TRY(gunzip(chunk.first(kGzipChunk), on_bytes));
        return gunzip(chunk, on_bytes);
      default:
        return chunk.empty() ? Result<>{} : on_bytes(chunk);
    }
  }

  Result<> unzstd(Bytes chunk, const OnBytes& on_bytes) {
    ZSTD_inBuffer in{chunk.data(), chunk.size(), 0};
    while (true) {
      ZSTD_outBuffer out{out_.data(), out_.size(), 0};
      const auto begin = in.pos;
      const auto rest = ZSTD_decompressStream(zstd_.get(), &out, &in);
      if (ZSTD_isError(rest))
        return fail(Errc::kCorrupt, "the compressed data is damaged: {}", ZSTD_getErrorName(rest))
            .hint("the part before it was read; if the file is a copy, copy it again");
      if (in.pos > begin || out.pos > 0) at_frame_end_ = rest == 0;
      if (out.pos > 0) TRY(on_bytes(Bytes{out_}.first(out.pos)));
      if (in.pos == in.size && out.pos < out.size) return {};
    }
  }

  Result<> gunzip(Bytes chunk, const OnBytes& on_bytes) {
    gzip_.next_in = const_cast<Bytef*>(chunk.data());  // zlib's interface is older than const
    gzip_.avail_in = static_cast<uInt>(chunk.size());
    while (true) {
      if (at_frame_end_) {
        // A member may follow another; zeros that pad a tape do not.
        while (gzip_.avail_in > 0 && *gzip_.next_in == 0) ++gzip_.next_in, --gzip_.avail_in;
        if (gzip_.avail_in == 0) return {};
        inflateReset(&gzip_);
        at_frame_end_ = false;
      }
      gzip_.next_out = out_.data();
      gzip_.avail_out = static_cast<uInt>(out_.size());
      const int status = inflate(&gzip_, Z_NO_FLUSH);
      const auto made = out_.size() - gzip_.avail_out;
      if (made > 0) TRY(on_bytes(Bytes{out_}.first(made)));
      if (status == Z_STREAM_END) {
        at_frame_end_ = true;
        continue;
      }
      if (status != Z_OK && status != Z_BUF_ERROR)
        return fail(Errc::kCorrupt, "the compressed data is damaged: {}",
                    gzip_.msg ? gzip_.msg : "not gzip")
            .hint("the part before it was read; if the file is a copy, copy it again");
      if (gzip_.avail_in == 0 && gzip_.avail_out > 0) return {};
    }
  }

  Kind kind_ = Kind::kUnknown;
  std::vector<std::uint8_t> head_;  // until it is known what this is
  std::vector<std::uint8_t> out_;
  std::unique_ptr<ZSTD_DStream, FreeZstd> zstd_;
  z_stream gzip_{};
  bool at_frame_end_ = false;
};

Decompressor::Decompressor() : impl_(std::make_unique<Impl>()) {}
Decompressor::~Decompressor() = default;
Decompressor::Decompressor(Decompressor&&) noexcept = default;
Decompressor& Decompressor::operator=(Decompressor&&) noexcept = default;

Result<> Decompressor::feed(Bytes chunk, const OnBytes& on_bytes) {
  return impl_->feed(chunk, on_bytes);
}
Result<bool> Decompressor::finish(const OnBytes& on_bytes) { return impl_->finish(on_bytes); }
bool Decompressor::compressed() const { return impl_->compressed(); }

}  // namespace clrscope
