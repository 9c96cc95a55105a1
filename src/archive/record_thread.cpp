#include "archive/record_thread.h"

#include <fmt/format.h>
#include <sys/eventfd.h>

#include "base/shape.h"

namespace clrscope::archive {
namespace {

std::vector<std::string> provider_names(const ops::EventSelection& request) {
  std::vector<std::string> out;
  for (const auto& one : request.providers) out.push_back(ops::provider_text(one.provider));
  return out;
}

}  // namespace

RecordThread::RecordThread(ops::RecordRequest request,
                           std::function<void(const RecordState&)> on_end)
    : request_(std::move(request)),
      on_end_(std::move(on_end)),
      stop_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      stop_fds_{stop_.get()},
      thread_([this] { run(); }) {}

std::span<const std::string_view> names_of(StopCause) {
  static constexpr std::string_view kNames[] = {
      "stopped",      "discarded", "cancelled", "lease", "client left", "it did not start in time",
      "clrscope ends"};
  return kNames;
}

RecordThread::~RecordThread() { stop(StopCause::kShutdown); }

void RecordThread::stop(StopCause why) {
  {
    const std::lock_guard lock{mutex_};
    if (!why_) why_ = why;
  }
  const std::uint64_t one = 1;
  (void)!::write(stop_.get(), &one, sizeof one);
}

RecordState RecordThread::state() const {
  const std::lock_guard lock{mutex_};
  return state_;
}

bool RecordThread::wait_started(std::chrono::milliseconds patience) const {
  std::unique_lock lock{mutex_};
  return changed_.wait_for(lock, patience, [&] { return state_.started || state_.ended; });
}

bool RecordThread::wait_ended(std::chrono::milliseconds patience) const {
  std::unique_lock lock{mutex_};
  return changed_.wait_for(lock, patience, [&] { return state_.ended; });
}

void RecordThread::run() {
  request_.stop_fds = stop_fds_;
  const auto change = [&](const auto& how) {
    {
      const std::lock_guard lock{mutex_};
      how(state_);
    }
    changed_.notify_all();
  };
  const ops::RecordWatcher watcher{
      .on_plan =
          [&](const ops::Plan& plan) {
            change([&](RecordState& state) {
              state.sampling = clrscope::name_of(ops::sampling_of(plan));
              if (!plan.note.empty()) state.notes.push_back(plan.note);
              for (const auto& missing : plan.rung.missing) state.notes.push_back(missing.what);
            });
          },
      .on_start =
          [&](const Process& process, const ops::EventSelection& request) {
            change([&](RecordState& state) {
              state.started = true;
              state.process = process;
              state.providers = provider_names(request);
            });
          },
      .on_status =
          [&](const ops::StreamStatus& status) {
            change([&](RecordState& state) { state.status = status; });
          },
  };
  auto done = ops::record(request_, watcher);
  change([&](RecordState& state) {
    if (!done) {
      state.error = done.error();
      return;
    }
    state.status.elapsed = done->outcome.recorded;
    state.status.bytes = done->bytes;
    state.status.events = done->events;
    state.status.samples = done->samples;
    state.status.lost = done->lost;
    for (const auto& note : done->notes) state.notes.push_back(note);
    const auto ending = ops::ending_of(*done);
    state.ending = ending == ops::RecordEnding::kSignal && why_ ? clrscope::name_of(*why_)
                                                                : clrscope::name_of(ending);
    state.target_failed =
        ending == ops::RecordEnding::kTargetDied || ending == ops::RecordEnding::kNoAnswer;
    if (done->outcome.ending == ops::Ending::kWriteFailed && done->outcome.error)
      state.error = done->outcome.error;
  });
  if (on_end_) on_end_(state());
  change([](RecordState& state) { state.ended = true; });
}

}  // namespace clrscope::archive
