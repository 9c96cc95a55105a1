#include "inspect/twin_surgery.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <algorithm>

#include "base/io.h"
#include "base/proc.h"
#include "base/text.h"

namespace clrscope::inspect {
namespace {

constexpr std::chrono::seconds kStopPatience{2};
constexpr std::chrono::seconds kReapPatience{10};

// Children of the process that have ended and that nobody waits for: twins, since only they end
// without a signal. By the number that the process knows them by.
std::vector<pid_t> ended_twins(pid_t pid) {
  std::vector<pid_t> ended;
  for (const auto child : all_pids().value_or(std::vector<pid_t>{})) {
    const auto stat = read_file(fmt::format("/proc/{}/stat", child), 4096);
    if (!stat || stat->rfind(')') == std::string::npos) continue;
    const auto fields = split(std::string_view{*stat}.substr(stat->rfind(')') + 2), ' ');
    if (fields.size() < 36 || fields[0] != "Z" || fields[35] != "0") continue;
    if (parse_number(fields[1]) != static_cast<std::uint64_t>(pid)) continue;
    if (const auto status = read_file(fmt::format("/proc/{}/status", child)))
      ended.push_back(parse_namespace_ids(*status).own);
  }
  return ended;
}

// Those that wait for a futex first: nobody misses such a thread for a moment.
std::vector<pid_t> by_idleness(const ProcView& proc) {
  auto tids = proc.thread_ids().value_or(std::vector<pid_t>{});
  const auto waits = fmt::format("{} ", SYS_futex);
  std::ranges::stable_partition(tids, [&](pid_t tid) {
    const auto call = proc.read(fmt::format("task/{}/syscall", tid));
    return call && call->starts_with(waits);
  });
  return tids;
}

}  // namespace

Result<Surgery> Surgery::prepare(pid_t pid) {
  auto proc = TRY(ProcView::open(pid));
  auto memory = TRY(open_live_memory(pid));
  const auto mappings = TRY(proc.mappings());
  const auto gadgets = TRY(find_gadgets(mappings, *memory));
  return Surgery{std::move(proc), std::move(memory), gadgets};
}

std::vector<TwinSupervisor::Registers> registers_of_all(const StoppedThreads& stopped) {
  std::vector<TwinSupervisor::Registers> all;
  for (const auto& thread : stopped.threads())
    if (const auto user = thread.registers()) all.push_back({thread.tid, *user});
  return all;
}

pid_t caller_among(std::span<const TwinSupervisor::Registers> registers,
                   std::span<const StoppedThread> threads) {
  pid_t best = 0;
  for (const auto& thread : threads) {
    if (!thread.stopped || thread.signal != 0) continue;
    const auto known = std::ranges::find(registers, thread.tid, &TwinSupervisor::Registers::tid);
    if (known == registers.end()) continue;
    if (known->user.orig_rax == SYS_futex) return thread.tid;
    if (best == 0) best = thread.tid;
  }
  return best;
}

std::chrono::nanoseconds try_to_reap_twins(const Surgery& surgery) {
  const auto& proc = surgery.proc;
  std::chrono::nanoseconds stood{};
  for (const auto twin : ended_twins(proc.pid())) {
    for (const auto tid : by_idleness(proc)) {
      StoppedThreads stopped{proc.pid()};
      if (!stopped.add({&tid, 1})) return stood;
      bool reaped = false;
      if (stopped.wait(Deadline{kStopPatience}) &&
          caller_among(registers_of_all(stopped), stopped.threads()) == tid) {
        const auto call = inject_call(proc.pid(), tid, surgery.gadgets, SYS_wait4,
                                      {static_cast<std::uint64_t>(twin), 0, __WALL | WNOHANG, 0});
        reaped = call && call->result != 0;
      }
      stopped.release();
      stood += stopped.pause();
      if (reaped) break;
    }
  }
  return stood;
}

std::chrono::nanoseconds reap_twins(const Surgery& surgery) {
  const Deadline last{kReapPatience};
  std::chrono::nanoseconds stood{};
  for (;;) {
    stood += try_to_reap_twins(surgery);
    if (ended_twins(surgery.proc.pid()).empty() || last.passed()) return stood;
    ::poll(nullptr, 0, 20);
  }
}

}  // namespace clrscope::inspect
