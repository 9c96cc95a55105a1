#include "live/recording.h"

#include <sys/socket.h>

#include "live/target.h"
#include "nettrace/reader.h"

namespace clrscope::live {

Count Tally::of(const std::string& provider) const {
  Count sum;
  for (const auto& [kind, count] : kinds) {
    if (kind.first != provider) continue;
    sum.events += count.events;
    sum.with_stack += count.with_stack;
  }
  return sum;
}

Recording::Recording(UniqueFd stream) : stream_(std::move(stream)), thread_([this] { run(); }) {}

Recording::~Recording() { ::shutdown(stream_.get(), SHUT_RDWR); }

bool Recording::has(const std::string& provider, std::uint64_t events) {
  return eventually([&] {
    return tally_.with([&](const Tally& tally) { return tally.of(provider).events >= events; });
  });
}

Result<Tally> Recording::stop(ipc::Endpoint& runtime, std::uint64_t session) {
  TRY(ipc::stop_tracing(runtime, session, kPatience));
  thread_.join();
  return tally_.with([](const Tally& tally) { return tally; });
}

void Recording::run() {
  nettrace::Reader reader;
  const auto on_batch = [&](const nettrace::Batch& batch) {
    tally_.with([&](Tally& tally) {
      for (const auto& event : batch.events) {
        auto& count = tally.kinds[{event.type->provider, event.type->id}];
        ++count.events;
        if (reader.stack(event.stack).size() > 0) ++count.with_stack;
      }
    });
  };
  std::uint8_t piece[1 << 16];
  bool readable = true;
  for (;;) {
    const auto got = ::read(stream_.get(), piece, sizeof piece);
    if (got <= 0) break;
    readable = readable && reader.feed({piece, static_cast<std::size_t>(got)}, on_batch);
  }
  readable = readable && reader.finish(on_batch);
  tally_.with([&](Tally& tally) {
    tally.readable = readable;
    tally.ended = reader.summary().ended;
    if (reader.info()) tally.format = reader.info()->version;
  });
}

}  // namespace clrscope::live
