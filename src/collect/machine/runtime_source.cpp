#include "collect/machine/runtime_source.h"

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>

#include "collect/eventpipe/rewrite.h"

namespace clrscope::collect {
namespace {

constexpr std::chrono::seconds kSilence{2};
// The runtime hands over its buffers ten times a second, thread by thread.
constexpr std::chrono::milliseconds kDisorder{500};

}  // namespace

RuntimeSource::RuntimeSource(OpenedRuntime opened, nettrace::Writer& writer)
    : process_(ProcessId{opened.pid}),
      runtime_(std::move(opened.runtime)),
      session_(std::move(opened.session)),
      writer_(writer),
      source_(writer.add_source(nettrace::Writer::Numbering::kFromFirstSeen)),
      reader_(std::in_place),
      heard_(TraceClock::now()),
      early_(std::move(opened.early)),
      end_(*runtime_, session_.id, opened.pid) {}

Result<> RuntimeSource::read(std::span<std::uint8_t> buffer) {
  if (early_) early_->read();
  const auto got = ::recv(session_.stream.get(), buffer.data(), buffer.size(), MSG_DONTWAIT);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return {};
  const auto take = [this](const nettrace::Batch& batch) { on_batch(batch); };
  if (got <= 0) {
    closed_ = true;
    (void)reader_->finish(take);
  } else {
    end_.hear();
    heard_ = TraceClock::now();
    TRY(reader_->feed(Bytes{buffer}.first(static_cast<std::size_t>(got)), take));
  }
  if (error_) return fail(*error_);
  return {};
}

void RuntimeSource::release() {
  released_ = summary();
  reader_.reset();
}

bool RuntimeSource::ended() { return closed_ || end_.hopeless(); }

std::optional<TraceTime> RuntimeSource::watermark(TraceTime now) const {
  if (closed_ || now - heard_ >= kSilence) return std::nullopt;
  return newest_ - kDisorder;
}

Result<bool> RuntimeSource::add_early_names() {
  if (!early_) return false;
  early_->read();
  const auto source = writer_.add_source(nettrace::Writer::Numbering::kNone);
  nettrace::Reader reader;
  std::uint64_t names = 0;
  TRY(early_->replay(reader, [&](const nettrace::Batch& batch) {
    names += batch.events.size();
    write(source, reader, batch);
  }));
  if (error_) return fail(*error_);
  return names > 0;
}

void RuntimeSource::write(nettrace::SourceId source, const nettrace::Reader& reader,
                          const nettrace::Batch& batch) {
  for (Event event : batch.events) {
    event.process = process_;
    newest_ = std::max(newest_, event.time);
    if (is_runtime_sample(event)) ++samples_;
    if (auto written = writer_.write(source, event, reader.stack(event.stack)); !written && !error_)
      error_ = written.error();
  }
}

void RuntimeSource::on_batch(const nettrace::Batch& batch) {
  if (stopping_ && stopping_->found_in(batch, *reader_)) stop_found_ = true;
  write(source_, *reader_, batch);
  if (!batch.sequence_point) return;
  for (const auto& capture : reader_->loss())
    if (capture.live) writer_.checkpoint(source_, capture.id, capture.sequence);
}

}  // namespace clrscope::collect
