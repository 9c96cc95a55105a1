#include "collect/trace_output.h"

#include "base/io.h"

namespace clrscope::collect {
namespace {

constexpr std::chrono::seconds kFlushEvery{1};

}  // namespace

TraceOutput::TraceOutput(int fd, Packing packing) : fd_(fd), flushed_(TraceClock::now()) {
  if (packing == Packing::kZstd) compressor_.emplace();
}

Result<> TraceOutput::put(Bytes bytes) {
  TRY(write_all(fd_, bytes));
  bytes_ += bytes.size();
  return {};
}

Result<> TraceOutput::write(Bytes bytes) {
  if (!compressor_) return put(bytes);
  TRY(compressor_->add(bytes, [this](Bytes packed) { return put(packed); }));
  waiting_ = true;
  return tick();
}

Result<> TraceOutput::tick() {
  const auto now = TraceClock::now();
  if (!waiting_ || now - flushed_ < kFlushEvery) return {};
  flushed_ = now;
  waiting_ = false;
  return compressor_->flush([this](Bytes packed) { return put(packed); });
}

Result<> TraceOutput::finish() {
  if (!compressor_) return {};
  waiting_ = false;
  return compressor_->finish([this](Bytes packed) { return put(packed); });
}

}  // namespace clrscope::collect
