#include "ops/program_meter.h"

#include <poll.h>
#include <time.h>

#include <vector>

namespace clrscope::ops {
namespace {

constexpr std::chrono::milliseconds kBefore{300};

double cpus(std::chrono::nanoseconds cpu, std::chrono::nanoseconds time) {
  return time.count() > 0 ? static_cast<double>(cpu.count()) / static_cast<double>(time.count())
                          : 0;
}

}  // namespace

ProgramMeter::ProgramMeter(pid_t pid) : pid_(pid), begun_(read()) {}

std::optional<ProgramMeter::Reading> ProgramMeter::read() const {
  clockid_t clock{};
  timespec used{};
  if (pid_ <= 0 || ::clock_getcpuclockid(pid_, &clock) != 0 || ::clock_gettime(clock, &used) != 0)
    return std::nullopt;
  return Reading{TraceClock::now(),
                 std::chrono::seconds{used.tv_sec} + std::chrono::nanoseconds{used.tv_nsec}};
}

void ProgramMeter::await_before(std::span<const int> stop_fds) {
  if (!begun_) return;
  const auto left =
      std::chrono::ceil<std::chrono::milliseconds>(begun_->time + kBefore - TraceClock::now());
  std::vector<pollfd> fds;
  for (const int fd : stop_fds) fds.push_back({.fd = fd, .events = POLLIN, .revents = 0});
  if (left.count() > 0) (void)::poll(fds.data(), fds.size(), static_cast<int>(left.count()));
}

void ProgramMeter::start() { started_ = read(); }
void ProgramMeter::stop() { stopped_ = read(); }

std::optional<ProgramCost> ProgramMeter::cost() const {
  if (!begun_ || !started_ || !stopped_ || started_->time - begun_->time < kBefore)
    return std::nullopt;
  return ProgramCost{cpus(started_->cpu - begun_->cpu, started_->time - begun_->time),
                     cpus(stopped_->cpu - started_->cpu, stopped_->time - started_->time)};
}

}  // namespace clrscope::ops
