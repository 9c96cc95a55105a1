#include "ops/request_samples.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include "ops/top.h"

namespace clrscope::ops {

RequestSamples::RequestSamples(pid_t pid, unsigned rate)
    : pid_(pid),
      rate_(rate),
      stop_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      thread_([this] { run(); }) {}

RequestSamples::~RequestSamples() { stop(); }

void RequestSamples::run() {
  const int stop_fds[] = {stop_.get()};
  const TopRequest request{.target = {.pid = pid_},
                           .interval = std::chrono::milliseconds{500},
                           .rate = rate_,
                           .may_load_agent = false,  // its listener is the request profile
                           .keep_samples = true,
                           .stop_fds = stop_fds};
  const auto on_interval = [this](const TopInterval& interval) {
    state_.with([&](State& state) {
      state.lost = interval.lost;
      // Some samples come with the next interval.
      const auto complete = std::exchange(state.shown, interval.to);
      state.requests.add_samples({interval.taken, interval.stacks, interval.frames}, complete);
    });
  };
  const auto done = top(request, {.on_interval = on_interval});
  state_.with([&](State& state) {
    if (!done) state.trouble = done.error().what;
    state.requests.add_samples({}, TraceTime::max());  // nobody has to wait any more
  });
}

void RequestSamples::stop() {
  const std::uint64_t one = 1;
  (void)!::write(stop_.get(), &one, sizeof one);
  if (thread_.joinable()) thread_.join();
}

RequestBatch RequestSamples::exchange(RequestBatch batch, TraceTime now) {
  return state_.with([&](State& state) {
    state.requests.add(std::move(batch), now);
    return state.requests.take(now);
  });
}

RequestBatch RequestSamples::finish() {
  stop();
  return state_.with([](State& state) { return state.requests.take_all(); });
}

std::uint64_t RequestSamples::lost() const {
  return state_.with([](const State& state) { return state.lost + state.requests.lost(); });
}

std::string RequestSamples::trouble() const {
  return state_.with([](const State& state) { return state.trouble; });
}

}  // namespace clrscope::ops
