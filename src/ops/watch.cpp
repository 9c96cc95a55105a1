#include "ops/watch.h"

#include <fmt/format.h>
#include <poll.h>

#include <algorithm>

#include "base/proc.h"
#include "base/text.h"
#include "ipc/commands.h"
#include "ipc/discover.h"
#include "ops/counter_sources.h"
#include "ops/settled.h"

namespace clrscope::ops {

namespace {

constexpr int kQuickTries = 5;  // a second apart
constexpr std::chrono::seconds kLongestPause{60};

// A process that is starting may fail a few times; one on a machine that stands still, for longer.
std::chrono::seconds pause_after(int failures) {
  if (failures < kQuickTries) return std::chrono::seconds{0};
  return std::min(std::chrono::seconds{1 << std::min(failures - kQuickTries + 1, 10)},
                  kLongestPause);
}

}  // namespace

bool Watch::wants(const std::string& name) const {
  return request_.all || std::any_of(request_.names.begin(), request_.names.end(),
                                     [&](const auto& one) { return glob_match(one, name); });
}

Result<> Watch::attach(const Process& process, std::shared_ptr<ipc::Endpoint> endpoint) {
  const auto status =
      process.foreign ? fail(Errc::kNotFound, "not here") : proc_status(process.pid);
  const Attached attached{next_source_++, status ? status->start_ticks : 0, process.name,
                          process.foreign};
  TRY(hub_.attach(make_source(attached.source, process, std::move(endpoint))));
  attached_[process.pid] = attached;
  return {};
}

Result<> Watch::attach_pid(pid_t pid) {
  wait_until_settled(pid);
  auto target = TRY(find_target({.pid = pid}, std::chrono::seconds{2}, -1));
  return attach(target.process, std::move(target.endpoint));
}

Result<std::unique_ptr<Watch>> Watch::start(hub::Hub& hub, const WatchRequest& request,
                                            int stop_fd) {
  std::unique_ptr<Watch> watch{new Watch{hub, request}};
  if (!request.target.command.empty() || request.target.diagnostic_port) {
    watch->target_ = TRY(find_target(request.target, std::chrono::seconds{10}, stop_fd));
    auto& target = *watch->target_;
    // Lent: the target outlives the hub's sessions, which end with the watch.
    const std::shared_ptr<ipc::Endpoint> endpoint{target.endpoint.get(), [](auto*) {}};
    TRY(watch->attach(target.process, endpoint));
    if (target.suspended) TRY(ipc::resume_runtime(*target.endpoint));
    return watch;
  }
  for (const auto pid : request.pids) TRY(watch->attach_pid(pid));
  if (request.comes_and_goes()) (void)watch->refresh();
  return watch;
}

void Watch::rerequest(std::vector<pid_t> pids, std::vector<std::string> names, bool all) {
  request_.pids = std::move(pids);
  request_.names = std::move(names);
  request_.all = all;
  std::erase_if(attached_, [&](const auto& one) {
    const bool stays = std::ranges::find(request_.pids, one.first) != request_.pids.end() ||
                       wants(one.second.name);
    if (!stays) hub_.detach(one.second.source);
    return !stays;
  });
  for (const auto pid : request_.pids) {
    if (attached_.contains(pid)) continue;
    if (auto done = attach_pid(pid); !done) trouble_ = done.error().what;
  }
  (void)refresh();
}

// Of a foreign one its port tells: one that is silent lives.
bool Watch::lives(pid_t pid, const Attached& one) const {
  if (one.foreign) {
    const auto answer = ipc::process_info(*target_->endpoint, std::chrono::milliseconds{200});
    return answer || answer.error().code == Errc::kTimeout;
  }
  const auto status = proc_status(pid);
  return status && status->state != 'Z' &&
         (one.start_ticks == 0 || status->start_ticks == one.start_ticks);
}

bool Watch::refresh() {
  for (auto one = attached_.begin(); one != attached_.end();) {
    const bool stays = lives(one->first, one->second);
    if (!stays) hub_.detach(one->second.source);
    one = stays ? std::next(one) : attached_.erase(one);
  }
  if (!request_.comes_and_goes()) return !attached_.empty();
  const auto found = ipc::find_processes();
  if (!found) return true;
  std::erase_if(refused_, [](const auto& one) { return !process_exists(one.first); });
  for (const auto& one : *found) {
    if (attached_.contains(one.pid) || !wants(one.name)) continue;
    if (!has_settled(one.status)) continue;  // the next look
    if (!one.reachable()) {
      if (!request_.all && !std::exchange(told_unreachable_, true))
        trouble_ = fmt::format("cannot reach process {} ({}): {}", one.pid, one.name,
                               one.unreachable.what);
      continue;
    }
    auto& refusal = refused_[one.pid];
    if (refusal.start_ticks != one.status.start_ticks) refusal = {one.status.start_ticks};
    if (TraceClock::now() < refusal.not_before) continue;
    auto done = attach_pid(one.pid);
    if (done) {
      refused_.erase(one.pid);
      continue;
    }
    const bool denied = done.error().code == Errc::kDenied;
    ++refusal.times;
    refusal.not_before = denied ? TraceTime::max() : TraceClock::now() + pause_after(refusal.times);
    if ((denied || refusal.times == kQuickTries) && process_exists(one.pid))
      trouble_ = done.error().what;
  }
  return true;
}

collect::StopReason watch_until_end(Watch& watch, std::span<const int> stop_fds,
                                    std::optional<std::chrono::nanoseconds> duration,
                                    const std::function<void(const std::string&)>& on_trouble) {
  const Deadline end{duration.value_or(std::chrono::nanoseconds::max())};
  std::vector<pollfd> fds;
  for (const auto fd : stop_fds) fds.push_back({.fd = fd, .events = POLLIN, .revents = 0});
  for (;;) {
    const auto wait = std::min<std::chrono::milliseconds>(end.left(), std::chrono::seconds{1});
    ::poll(fds.data(), fds.size(), static_cast<int>(wait.count()));
    for (const auto& fd : fds)
      if (fd.revents != 0) return collect::StopReason::kSignal;
    if (end.passed()) return collect::StopReason::kDuration;
    if (!watch.refresh()) return collect::StopReason::kTargetEnded;
    if (const auto trouble = watch.take_trouble(); !trouble.empty() && on_trouble)
      on_trouble(trouble);
  }
}

}  // namespace clrscope::ops
