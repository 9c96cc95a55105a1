#include "collect/machine/runtime_source.h"

#include <sys/socket.h>

#include <cerrno>

#include "collect/eventpipe/rewrite.h"

namespace clrscope::collect {
namespace {

constexpr std::size_t kChunk = 256 * 1024;
constexpr std::chrono::seconds kPatience{1};  // the kernel's rings fill meanwhile

}  // namespace

Result<std::unique_ptr<RuntimeSource>> RuntimeSource::start(ProcessId process,
                                                            std::unique_ptr<ipc::Endpoint> runtime,
                                                            const ipc::SessionConfig& config,
                                                            nettrace::Writer& writer) {
  auto session = TRY(ipc::start_tracing(*runtime, config, kPatience));
  return std::unique_ptr<RuntimeSource>{
      new RuntimeSource{process, std::move(runtime), std::move(session), writer}};
}

RuntimeSource::RuntimeSource(ProcessId process, std::unique_ptr<ipc::Endpoint> runtime,
                             ipc::Session session, nettrace::Writer& writer)
    : process_(process),
      runtime_(std::move(runtime)),
      session_(std::move(session)),
      writer_(writer),
      source_(writer.add_source(nettrace::Writer::Numbering::kFromFirstSeen)),
      chunk_(kChunk),
      end_(*runtime_, session_.id, static_cast<pid_t>(process)) {}

Result<> RuntimeSource::read() {
  const auto got = ::recv(session_.stream.get(), chunk_.data(), chunk_.size(), MSG_DONTWAIT);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return {};
  const auto take = [this](const nettrace::Batch& batch) { on_batch(batch); };
  if (got <= 0) {
    closed_ = true;
    (void)reader_.finish(take);
  } else {
    end_.hear();
    TRY(reader_.feed(Bytes{chunk_}.first(static_cast<std::size_t>(got)), take));
  }
  if (error_) return fail(*error_);
  return {};
}

bool RuntimeSource::ended() { return closed_ || end_.hopeless(); }

void RuntimeSource::on_batch(const nettrace::Batch& batch) {
  for (Event event : batch.events) {
    event.process = process_;
    if (is_runtime_sample(event)) ++samples_;
    if (auto written = writer_.write(source_, event, reader_.stack(event.stack));
        !written && !error_)
      error_ = written.error();
  }
  if (!batch.sequence_point) return;
  for (const auto& capture : reader_.loss())
    if (capture.live) writer_.checkpoint(source_, capture.id, capture.sequence);
}

}  // namespace clrscope::collect
