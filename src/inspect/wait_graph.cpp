#include "inspect/wait_graph.h"

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>

namespace clrscope::inspect {
namespace {

bool is_lock(WaitKind kind) {
  return kind == WaitKind::kMonitor || kind == WaitKind::kLock || kind == WaitKind::kReaderWriter ||
         kind == WaitKind::kSemaphore;
}

}  // namespace

void add_locks(Snapshot& seen, const std::vector<SyncBlock>& monitors) {
  std::map<std::uint64_t, Lock> locks;  // by object
  for (const auto& monitor : monitors)
    if (monitor.held)
      locks[monitor.object] = {.kind = WaitKind::kMonitor,
                               .object = monitor.object,
                               .owner_os_id = monitor.owner_os_id,
                               .recursion = monitor.recursion};
  for (const auto& thread : seen.threads) {
    if (!thread.waiting_for || thread.waiting_for->object == 0 ||
        !is_lock(thread.waiting_for->kind))
      continue;
    const auto& wait = *thread.waiting_for;
    auto& lock = locks[wait.object];
    lock.kind = wait.kind;
    lock.object = wait.object;
    if (lock.type.empty()) lock.type = wait.type;
    if (lock.owner_os_id == 0) lock.owner_os_id = wait.owner_os_id;
    lock.waiters.push_back(thread.os_id());
  }
  for (auto& [object, lock] : locks) {
    for (auto& thread : seen.threads)
      if (lock.owner_os_id != 0 && thread.os_id() == lock.owner_os_id)
        thread.holds.push_back(object);
    seen.locks.push_back(std::move(lock));
  }
}

std::vector<std::vector<std::uint32_t>> find_cycles(const Snapshot& seen) {
  // A thread waits for one thing at a time, so each has at most one edge.
  std::unordered_map<std::uint32_t, std::uint32_t> waits_for;
  for (const auto& thread : seen.threads)
    if (thread.waiting_for && thread.waiting_for->owner_os_id != 0 && !thread.waiting_for->timed)
      waits_for[thread.os_id()] = thread.waiting_for->owner_os_id;
  std::set<std::uint32_t> done;
  std::vector<std::vector<std::uint32_t>> cycles;
  for (const auto& thread : seen.threads) {
    std::vector<std::uint32_t> path;
    auto id = thread.os_id();
    while (!done.contains(id) && waits_for.contains(id)) {
      done.insert(id);
      path.push_back(id);
      id = waits_for[id];
    }
    const auto start = std::ranges::find(path, id);
    if (start == path.end()) continue;
    std::vector<std::uint32_t> cycle{start, path.end()};
    std::ranges::rotate(cycle, std::ranges::min_element(cycle));
    cycles.push_back(std::move(cycle));
  }
  std::ranges::sort(cycles);
  return cycles;
}

}  // namespace clrscope::inspect
