#include "collect/eventpipe/session_end.h"

#include "base/log.h"
#include "base/proc.h"
#include "ipc/commands.h"

namespace clrscope::collect {
namespace {

constexpr std::chrono::seconds kGrace{10};
constexpr std::chrono::seconds kGraceWhenStopped{2};  // a stopped process says nothing for sure

}  // namespace

void SessionEnd::ask() {
  if (asked_at_) return;
  asked_at_ = heard_ = TraceClock::now();
  asker_ = std::jthread{[this] {
    const auto stopped = ipc::stop_tracing(runtime_, session_id_, kGraceWhenStopped);
    if (!stopped) log(LogLevel::kDebug, "stop: {}", stopped.error().what);
  }};
}

bool SessionEnd::hopeless() const {
  if (!asked_at_) return false;
  const auto silence = TraceClock::now() - heard_;
  if (silence < kGraceWhenStopped) return false;
  if (silence >= kGrace) return true;
  if (pid_ == 0) return false;
  const auto status = proc_status(pid_);
  return status && (status->state == 'T' || status->state == 't');
}

}  // namespace clrscope::collect
