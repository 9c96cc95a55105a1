#include "http/record_thread.h"

#include <fmt/format.h>
#include <sys/eventfd.h>

namespace clrscope::http {
namespace {

std::string sampling_of(const ops::Plan& plan) {
  if (plan.kernel) return plan.rung.cpu == ops::CpuRung::kRuntime ? "runtime" : "perf";
  for (const auto& one : plan.wish.providers)
    if (one.provider.name == "Microsoft-DotNETCore-SampleProfiler") return "runtime";
  return "none";
}

std::vector<std::string> provider_names(const ops::Wish& wish) {
  std::vector<std::string> out;
  for (const auto& one : wish.providers) out.push_back(ops::provider_text(one.provider));
  return out;
}

}  // namespace

RecordThread::RecordThread(ops::RecordWish wish, std::function<void(const RecordState&)> on_end)
    : wish_(std::move(wish)),
      on_end_(std::move(on_end)),
      stop_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      stop_fds_{stop_.get()},
      thread_([this] { run(); }) {}

RecordThread::~RecordThread() { stop("clrscope ends"); }

void RecordThread::stop(std::string why) {
  {
    const std::lock_guard lock{mutex_};
    if (why_.empty()) why_ = std::move(why);
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
  wish_.stop_fds = stop_fds_;
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
              state.sampling = sampling_of(plan);
              if (!plan.note.empty()) state.notes.push_back(plan.note);
              for (const auto& missing : plan.rung.missing) state.notes.push_back(missing.what);
            });
          },
      .on_start =
          [&](const Process& process, const ops::Wish& wish) {
            change([&](RecordState& state) {
              state.started = true;
              state.process = process;
              state.providers = provider_names(wish);
            });
          },
      .on_status =
          [&](const collect::StreamStatus& status) {
            change([&](RecordState& state) { state.status = status; });
          },
  };
  auto done = ops::record(wish_, watcher);
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
    state.ending = ops::ending_text(*done);
    if (state.ending == "signal") state.ending = why_;
    if (done->outcome.ending == collect::Ending::kWriteFailed && done->outcome.error)
      state.error = done->outcome.error;
  });
  if (on_end_) on_end_(state());
  change([](RecordState& state) { state.ended = true; });
}

}  // namespace clrscope::http
