#include "collect/eventpipe/session_end.h"

#include "base/log.h"
#include "base/proc.h"
#include "ipc/commands.h"

namespace clrscope::collect {
namespace {

constexpr std::chrono::seconds kGrace{10};
constexpr std::chrono::seconds kGraceWhenStopped{2};  // a stopped process says nothing for sure
constexpr std::chrono::minutes kLongestRundown{5};

}  // namespace

void SessionEnd::ask() {
  if (asked_at_) return;
  asked_at_ = heard_ = TraceClock::now();
  asker_ = std::jthread{[this] {
    const auto stopped = ipc::stop_tracing(runtime_, session_id_, kLongestRundown);
    if (!stopped) log(LogLevel::kDebug, "stop: {}", stopped.error().what);
    if (stopped) answered_at_ = TraceClock::now();
  }};
}

bool SessionEnd::hopeless() const {
  if (!asked_at_) return false;
  // An honest runtime answers after its last byte: only what the socket holds may still come.
  const auto now = TraceClock::now();
  if (now >= *asked_at_ + kLongestRundown) return true;
  if (const auto answered = answered_at_.load(); answered < now && now - answered >= kGrace)
    return true;
  const auto silence = now - heard_;
  if (silence < kGraceWhenStopped) return false;
  if (silence >= kGrace) return true;
  if (pid_ == 0) return false;
  const auto status = proc_status(pid_);
  return status && (status->state == 'T' || status->state == 't');
}

}  // namespace clrscope::collect
