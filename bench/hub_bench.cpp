// What an event costs in the hub: decoded from a trace, chosen, copied and dispatched to two
// listeners, or wanted by nobody.
//
//   hub_bench [EVENTS]
//
// One line per number: name, value, unit. In time of the reading thread, which is what bounds a
// process's events; listeners have threads of their own.
#include <fmt/core.h>

#include <cstdlib>
#include <ctime>
#include <string>
#include <thread>

#include "hub/hub.h"
#include "nettrace/writer.h"

using namespace clrscope;

namespace {

double cpu_seconds(clockid_t clock) {
  timespec time{};
  ::clock_gettime(clock, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) / 1e9;
}

std::string numbered_trace(std::uint64_t events) {
  std::string bytes;
  nettrace::Writer writer{{.start = WallTime{}, .sync_ticks = 0, .ticks_per_second = 1'000'000'000},
                          [&](Bytes piece) -> Result<> {
                            bytes.append(reinterpret_cast<const char*>(piece.data()), piece.size());
                            return {};
                          }};
  const auto source = writer.add_source(nettrace::Writer::Numbering::kNone);
  EventType types[2];
  for (std::uint32_t i = 0; i < 2; ++i) {
    types[i] = {.index = i, .provider = "Shop", .name = "Numbered", .id = i + 1};
    types[i].keywords = i + 1;
    types[i].level = 4;
    types[i].fields = {{.name = "thread", .type = TypeCode::kInt64},
                       {.name = "n", .type = TypeCode::kInt64}};
  }
  for (std::uint64_t n = 0; n < events; ++n) {
    const std::uint64_t fields[2] = {1, n};
    Event event{.type = &types[n % 2], .ticks = static_cast<std::int64_t>(n + 1)};
    event.thread = ThreadId{1};
    event.capture_thread = 1;
    event.process = ProcessId{1};
    event.payload = {reinterpret_cast<const std::uint8_t*>(fields), sizeof fields};
    CHECK(writer.write(source, event));
  }
  CHECK(writer.finish());
  return bytes;
}

// A process that tells a trace when asked to.
class TraceSource final : public hub::Source {
 public:
  explicit TraceSource(const std::string& trace) : trace_(trace) {}
  const std::shared_ptr<const hub::SourceInfo>& info() const override { return info_; }
  Result<std::unique_ptr<hub::SourceSession>> open(const hub::SourceRequest&,
                                                   hub::SourceEvents events) override {
    events_ = std::move(events);
    return std::make_unique<hub::SourceSession>();
  }
  // In pieces as a socket gives them; CPU seconds of this thread.
  double tell() {
    const auto reader = std::make_shared<nettrace::Reader>();
    const auto begin = cpu_seconds(CLOCK_THREAD_CPUTIME_ID);
    const Bytes all{reinterpret_cast<const std::uint8_t*>(trace_.data()), trace_.size()};
    constexpr std::size_t kPiece = 256 * 1024;
    for (std::size_t at = 0; at < all.size(); at += kPiece)
      CHECK(reader->feed(all.subspan(at, std::min(kPiece, all.size() - at)),
                         [&](const nettrace::Batch& batch) {
                           if (!batch.events.empty()) events_.on_batch(*reader, batch, reader);
                         }));
    return cpu_seconds(CLOCK_THREAD_CPUTIME_ID) - begin;
  }

 private:
  const std::string& trace_;
  std::shared_ptr<const hub::SourceInfo> info_ =
      std::make_shared<const hub::SourceInfo>(hub::SourceInfo{.id = 1, .pid = 1, .runtime = "10"});
  hub::SourceEvents events_;
};

class CountingSink final : public hub::Sink {
 public:
  Result<> on_batch(const hub::Batch& batch) override {
    for (const auto row : batch.rows) bytes_ += batch.block->events()[row].payload.size();
    return {};
  }

 private:
  std::uint64_t bytes_ = 0;
};

struct Run {
  double nanoseconds = 0;  // for each event
  std::uint64_t handed = 0, dropped = 0;
};

Run run(const std::string& trace, std::uint64_t events,
        const std::vector<std::uint64_t>& keywords) {
  hub::Hub hub{std::chrono::hours{1}};
  const auto source = std::make_shared<TraceSource>(trace);
  CHECK(hub.attach(source));
  std::vector<hub::ListenerId> ids;
  for (const auto one : keywords) {
    auto id = hub.add({.providers = {{.name = "Shop", .keywords = one}}, .waits = false},
                      std::make_unique<CountingSink>());
    CHECK(id);
    ids.push_back(*id);
  }
  Run out{.nanoseconds = source->tell() * 1e9 / static_cast<double>(events)};
  for (const auto id : ids) {
    const auto summary = hub.remove(id);
    out.handed += summary.events;
    out.dropped += summary.dropped;
  }
  return out;
}

}  // namespace

int main(int argc, char** argv) {
  const std::uint64_t events = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 2'000'000;
  const auto trace = numbered_trace(events);
  const auto two = run(trace, events, {0x3, 0x3});
  // Asked for by nobody: the listener's keyword is one that no event has.
  const auto unwanted = run(trace, events, {0x4});
  CHECK(two.handed + two.dropped == 2 * events);
  CHECK(unwanted.handed == 0);
  fmt::print("dispatch {:.1f} ns\n", two.nanoseconds);
  fmt::print("rate {:.3f} M/s\n", 1000 / two.nanoseconds);
  fmt::print("unwanted {:.1f} ns\n", unwanted.nanoseconds);
  fmt::print("dropped {:.4f} share\n",
             static_cast<double>(two.dropped) / static_cast<double>(2 * events));
  return 0;
}
