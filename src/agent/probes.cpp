#include "agent/probes.h"

#include "agent/probe_thread.h"
#include "agent/syscalls.h"
#include "wire/arena.h"

namespace clrscope::agent {
namespace {

constexpr std::uint32_t kPlaces = 64;  // that are tried for a thread
constexpr long kCloseOnExec = 1, kAllowSealing = 2;
constexpr long kAddSeals = 1033, kSealShrinkGrow = 2 | 4 | 1;

// What the leaves read; written while the gate is closed.
struct Globals {
  std::atomic<std::uint32_t> gate{0};
  wire::Probes* shared = nullptr;
  std::atomic<std::uint64_t> session_start{0};
};
constinit Globals g_probes;

inline void add(std::atomic<std::uint64_t>& to, std::uint64_t value, bool is_shared) {
  if (is_shared)
    to.fetch_add(value, std::memory_order_relaxed);
  else
    to.store(to.load(std::memory_order_relaxed) + value, std::memory_order_relaxed);
}

inline void raise(std::atomic<std::uint64_t>& to, std::uint64_t value, bool is_shared) {
  auto seen = to.load(std::memory_order_relaxed);
  if (value <= seen) return;
  if (!is_shared) return to.store(value, std::memory_order_relaxed);
  while (value > seen && !to.compare_exchange_weak(seen, value, std::memory_order_relaxed)) {
  }
}

}  // namespace

constinit ProbeThread* g_probe_threads = nullptr;

ProbeThread* claim_probe_thread(std::uintptr_t self, std::uint32_t place) {
  for (std::uint32_t i = 0; i < kPlaces; ++i) {
    auto& thread = g_probe_threads[(place + i) % kProbeThreads];
    auto owner = thread.owner.load(std::memory_order_acquire);
    if (owner == self) return &thread;
    if (owner != 0 || !thread.owner.compare_exchange_strong(owner, self)) continue;
    const auto number = g_probes.shared->header.threads.fetch_add(1, std::memory_order_relaxed);
    thread.is_shared = number >= wire::kProbeSlabs - 1;
    thread.counters = g_probes.shared->counters[thread.is_shared ? wire::kProbeSlabs - 1 : number];
    thread.number = number;
    thread.children = 0;
    thread.flow = {};
    thread.last_start = 0;
    thread.depth = thread.fault = thread.last_request = 0;
    return &thread;
  }
  g_probes.shared->header.not_counted.fetch_add(1, std::memory_order_relaxed);
  return nullptr;
}

std::int64_t probe_enter(std::int32_t id, std::uint64_t* saved) {
  auto* thread = this_probe_thread();
  if (!thread) return 0;
  *saved = thread->children;
  thread->children = 0;
  add(thread->counters[id].enters, 1, thread->is_shared);
  return static_cast<std::int64_t>(read_tsc());
}

void probe_leave(std::int32_t id, std::int64_t start, std::uint64_t saved) {
  const auto now = read_tsc();
  auto* thread = this_probe_thread();
  if (!thread) return;
  const auto begin = static_cast<std::uint64_t>(start);
  const auto ticks = now > begin ? now - begin : 0;
  const auto children = thread->children;
  thread->children = saved + ticks;
  if (begin < g_probes.session_start.load(std::memory_order_relaxed)) return;
  auto& counter = thread->counters[id];
  const bool is_shared = thread->is_shared;
  add(counter.leaves, 1, is_shared);
  add(counter.total, ticks, is_shared);
  add(counter.self, ticks > children ? ticks - children : 0, is_shared);
  raise(counter.longest, ticks, is_shared);
  raise(counter.shortest, ~ticks, is_shared);
}

bool ProbeTable::open() {
  if (shared_) return true;
  auto fd = static_cast<int>(
      syscall_raw(number::kMemfdCreate, as_long("clrscope-probes"), kCloseOnExec | kAllowSealing));
  if (fd < 0) return false;
  if (syscall_raw(number::kFtruncate, fd, wire::kProbesBytes) != 0 ||
      syscall_raw(number::kFcntl, fd, kAddSeals, kSealShrinkGrow) != 0)
    return close_fd(fd), false;
  auto* shared = static_cast<wire::Probes*>(map_memory(wire::kProbesBytes, fd));
  auto* threads = static_cast<ProbeThread*>(map_memory(sizeof(ProbeThread) * kProbeThreads));
  if (!shared || !threads) return close_fd(fd), false;
  shared->header.magic = wire::kProbesMagic;
  shared->header.protocol = wire::kProtocol;
  shared->header.bytes = wire::kProbesBytes;
  g_probes.shared = shared;
  g_probe_threads = threads;
  shared_ = shared;
  fd_ = fd;
  return true;
}

void ProbeTable::reset(std::uint32_t counters) {
  // A probe that began before is known by its time, and writes no counter any more.
  g_probes.session_start.store(read_tsc(), std::memory_order_seq_cst);
  for (std::uint32_t i = 0; i < kProbeThreads; ++i)
    g_probe_threads[i].owner.store(0, std::memory_order_release);
  const auto used = shared_->header.threads.load();
  for (std::uint32_t slab = 0; slab < wire::kProbeSlabs; ++slab) {
    if (slab >= used && slab != wire::kProbeSlabs - 1) continue;
    for (std::uint32_t i = 0; i < counters; ++i) {
      auto& counter = shared_->counters[slab][i];
      if (counter.enters.load(std::memory_order_relaxed) == 0 &&
          counter.leaves.load(std::memory_order_relaxed) == 0)
        continue;  // would only touch its page
      for (auto* value : {&counter.enters, &counter.leaves, &counter.total, &counter.self,
                          &counter.longest, &counter.shortest})
        value->store(0, std::memory_order_relaxed);
    }
  }
  shared_->header.threads.store(0);
  shared_->header.not_counted.store(0);
}

void ProbeTable::switch_on() { g_probes.gate.store(1, std::memory_order_release); }
void ProbeTable::switch_off() { g_probes.gate.store(0, std::memory_order_release); }
bool ProbeTable::is_on() { return g_probes.gate.load(std::memory_order_acquire) != 0; }

std::uint64_t ProbeTable::leaves(std::uint32_t counter) const {
  const auto used = shared_->header.threads.load(std::memory_order_relaxed);
  std::uint64_t sum = 0;
  for (std::uint32_t slab = 0; slab < wire::kProbeSlabs && slab < used; ++slab)
    sum += shared_->counters[slab][counter].leaves.load(std::memory_order_relaxed);
  return sum;
}

std::uint64_t ProbeTable::enters(std::uint32_t counter) const {
  const auto used = shared_->header.threads.load(std::memory_order_relaxed);
  std::uint64_t sum = 0;
  for (std::uint32_t slab = 0; slab < wire::kProbeSlabs && slab < used; ++slab)
    sum += shared_->counters[slab][counter].enters.load(std::memory_order_relaxed);
  return sum;
}

std::uint64_t probe_gate_address() { return reinterpret_cast<std::uint64_t>(&g_probes.gate); }
std::uint64_t probe_enter_address() { return reinterpret_cast<std::uint64_t>(&probe_enter); }
std::uint64_t probe_leave_address() { return reinterpret_cast<std::uint64_t>(&probe_leave); }

}  // namespace clrscope::agent
