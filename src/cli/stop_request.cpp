#include "cli/stop_request.h"

#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>

namespace clrscope::cli {
namespace {

std::atomic<int> event_fd{-1}, reload_event_fd{-1};
std::atomic<int> came{0};
std::atomic<bool> terminal{false};

void on_signal(int number, siginfo_t* info, void*) {  // signal-safe
  const int saved = errno;
  came = number;
  terminal = info && info->si_code == SI_KERNEL;
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto written = ::write(event_fd, &one, sizeof one);
  errno = saved;
}

void on_hangup(int) {  // signal-safe
  const int saved = errno;
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto written = ::write(reload_event_fd, &one, sizeof one);
  errno = saved;
}

}  // namespace

StopRequest::StopRequest(EnterKey enter, Hangup hangup)
    : event_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      reload_(hangup == Hangup::kReloads ? ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK) : -1),
      fds_{event_.get()} {
  event_fd = event_.get();
  came = 0;
  if (enter == EnterKey::kStops && ::isatty(STDIN_FILENO) &&
      ::tcgetpgrp(STDIN_FILENO) == ::getpgrp())
    fds_.push_back(STDIN_FILENO);
  struct sigaction action {};
  action.sa_sigaction = on_signal;
  action.sa_flags = SA_SIGINFO | static_cast<int>(SA_RESETHAND);
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) ::sigaction(number, &action, nullptr);
  if (hangup == Hangup::kReloads) {
    reload_event_fd = reload_.get();
    struct sigaction reload {};
    reload.sa_handler = on_hangup;
    reload.sa_flags = SA_RESTART;
    ::sigaction(SIGHUP, &reload, nullptr);
  }
}

StopRequest::~StopRequest() {
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) ::signal(number, SIG_DFL);
  event_fd = reload_event_fd = -1;
}

int StopRequest::signal() const { return came; }
bool StopRequest::from_terminal() const { return terminal; }

}  // namespace clrscope::cli
