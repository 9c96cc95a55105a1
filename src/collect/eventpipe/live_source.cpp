#include "collect/eventpipe/live_source.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <array>
#include <optional>
#include <thread>

#include "base/clock.h"
#include "base/text.h"
#include "collect/eventpipe/event_filter.h"
#include "ipc/commands.h"

namespace clrscope::collect {
namespace {

constexpr std::chrono::seconds kStopPatience{3};
constexpr std::uint32_t kBufferMb = 16;
constexpr std::size_t kReadBytes = 256 << 10;

ipc::SessionConfig config_of(const hub::SourceRequest& request) {
  ipc::SessionConfig config{
      .buffer_mb = kBufferMb, .rundown_keyword = 0, .stacks = request.stacks, .providers = {}};
  for (const auto& one : request.providers)
    config.providers.push_back({.name = one.name,
                                .keywords = one.keywords,
                                .level = static_cast<ipc::Level>(one.level),
                                .arguments = one.arguments,
                                .event_ids = one.ids});
  return config;
}

class LiveSession final : public hub::SourceSession {
 public:
  LiveSession(std::shared_ptr<ipc::Endpoint> runtime, ipc::Session session,
              hub::SourceEvents events)
      : runtime_(std::move(runtime)),
        id_(session.id),
        stream_(std::move(session.stream)),
        give_up_(::eventfd(0, EFD_CLOEXEC)),
        events_(std::move(events)),
        thread_([this] { run(); }) {}

  // The runtime writes what it still holds before it answers; the thread reads it meanwhile.
  ~LiveSession() override {
    if (!ended_) (void)ipc::stop_tracing(*runtime_, id_, kStopPatience);
    const Deadline deadline{kStopPatience};
    while (!ended_ && !deadline.passed()) {
      pollfd nothing{.fd = -1, .events = 0, .revents = 0};
      ::poll(&nothing, 1, 5);
    }
    const std::uint64_t one = 1;
    (void)!::write(give_up_.get(), &one, sizeof one);
    thread_.join();
  }

 private:
  void run() {
    const auto reader = std::make_shared<nettrace::Reader>();
    const std::shared_ptr<const void> owner = reader;
    const nettrace::OnBatch on_batch = [&](const nettrace::Batch& batch) {
      if (!batch.events.empty()) events_.on_batch(*reader, batch, owner);
    };
    const auto why = read_all(*reader, on_batch);
    (void)reader->finish(on_batch);
    if (events_.on_end) events_.on_end(why);
    ended_ = true;
  }

  std::string read_all(nettrace::Reader& reader, const nettrace::OnBatch& on_batch) {
    std::vector<std::uint8_t> buffer(kReadBytes);
    for (;;) {
      std::array<pollfd, 2> fds{{{.fd = stream_.get(), .events = POLLIN, .revents = 0},
                                 {.fd = give_up_.get(), .events = POLLIN, .revents = 0}}};
      if (::poll(fds.data(), fds.size(), -1) < 0 && errno != EINTR) return errno_text();
      if (fds[0].revents != 0) {
        const auto got = ::read(stream_.get(), buffer.data(), buffer.size());
        if (got == 0) return "the target ended the session";
        if (got < 0 && errno != EINTR) return errno_text();
        if (got > 0) {
          const auto fed =
              reader.feed(Bytes{buffer}.first(static_cast<std::size_t>(got)), on_batch);
          if (!fed) return fed.error().what;
        }
      } else if (fds[1].revents != 0) {
        return "the target does not respond";
      }
    }
  }

  std::shared_ptr<ipc::Endpoint> runtime_;
  std::uint64_t id_;
  UniqueFd stream_;
  UniqueFd give_up_;
  hub::SourceEvents events_;
  std::atomic<bool> ended_{false};
  std::thread thread_;  // last member
};

class LiveSource final : public hub::Source {
 public:
  LiveSource(hub::SourceInfo info, std::shared_ptr<ipc::Endpoint> runtime, FindCounters find)
      : info_(std::make_shared<const hub::SourceInfo>(std::move(info))),
        runtime_(std::move(runtime)),
        find_(std::move(find)) {}

  const std::shared_ptr<const hub::SourceInfo>& info() const override { return info_; }

  Result<std::unique_ptr<hub::SourceSession>> open(const hub::SourceRequest& request,
                                                   hub::SourceEvents events) override {
    // The hub gives to each listener what it asked for, so the filter is not needed here.
    auto started = TRY(start_filtered(*runtime_, config_of(request)));
    return std::make_unique<LiveSession>(runtime_, std::move(started.session), std::move(events));
  }

  hub::CounterSources counter_sources() override {
    return find_ ? find_(*this) : hub::CounterSources{};
  }

 private:
  std::shared_ptr<const hub::SourceInfo> info_;
  std::shared_ptr<ipc::Endpoint> runtime_;
  FindCounters find_;
};

}  // namespace

std::shared_ptr<hub::Source> make_live_source(hub::SourceInfo info,
                                              std::shared_ptr<ipc::Endpoint> runtime,
                                              FindCounters find) {
  return std::make_shared<LiveSource>(std::move(info), std::move(runtime), std::move(find));
}

}  // namespace clrscope::collect
