#include "ops/process_book.h"

#include <algorithm>

#include "ops/processes.h"

namespace clrscope::ops {
namespace {

constexpr std::chrono::seconds kKnownFor{90};  // pages ask once a minute
constexpr std::chrono::seconds kYoung{10};     // not yet what it will be

// Neither stopped nor over.
bool is_usual(const ProcStatus& status) {
  return status.state != 'T' && status.state != 't' && status.state != 'Z' && status.state != 'X';
}

}  // namespace

// One that stands still, cannot be reached or has just started is asked each time.
std::optional<Process> ProcessBook::known(pid_t pid, const ProcStatus& status) const {
  if (!is_usual(status)) return std::nullopt;
  const auto now = TraceClock::now();
  auto process = known_.with([&](const auto& known) -> std::optional<Process> {
    const auto at = known.find(pid);
    if (at == known.end() || at->second.start_ticks != status.start_ticks ||
        now - at->second.asked > kKnownFor)
      return std::nullopt;
    return at->second.process;
  });
  if (process) update_usage(*process, status);
  return process;
}

void ProcessBook::keep(const Process& process) {
  const auto now = TraceClock::now();
  const auto status = proc_status(process.pid);
  known_.with([&](auto& known) {
    std::erase_if(known, [&](const auto& one) { return now - one.second.asked > kKnownFor; });
    if (status && process.reachable() && process.up >= kYoung)
      known[process.pid] = {process, status->start_ticks, now};
    else
      known.erase(process.pid);
  });
}

Result<std::vector<Process>> ProcessBook::list() {
  std::vector<Process> all;
  const auto skip = [&](pid_t pid) {
    if (!known_.with([&](const auto& known) { return known.contains(pid); })) return false;
    const auto status = proc_status(pid);
    auto process = status ? known(pid, *status) : std::nullopt;
    if (!process) return false;
    all.push_back(*std::move(process));
    return true;
  };
  auto found = TRY(list_processes(skip));
  for (auto& process : found) {
    keep(process);
    all.push_back(std::move(process));
  }
  std::ranges::sort(all, {}, &Process::pid);
  return all;
}

std::optional<Process> ProcessBook::still_there(pid_t pid) const {
  auto one = known_.with([&](const auto& known) -> std::optional<Known> {
    const auto at = known.find(pid);
    if (at == known.end()) return std::nullopt;
    return at->second;
  });
  const auto status = one ? proc_status(pid) : fail(Errc::kNotFound, "it was not listed");
  if (!status || status->start_ticks != one->start_ticks || !is_usual(*status)) return std::nullopt;
  return std::move(one->process);
}

std::optional<Process> ProcessBook::find(pid_t pid) {
  const auto status = proc_status(pid);
  if (!status || status->state == 'T') return std::nullopt;
  if (auto process = known(pid, *status)) return process;
  auto found = list_process(pid);
  if (!found) return std::nullopt;
  keep(*found);
  return *std::move(found);
}

}  // namespace clrscope::ops
