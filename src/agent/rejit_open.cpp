// Opens the metadata of modules for writing, before any of their methods is compiled again.
//
// New code needs signatures in the metadata of its module. When it is first opened for writing, the
// runtime publishes a copy of it, then replaces the copy's tables by wider ones and frees the old
// ones, while compilers, reflection and RequestReJIT itself read them without a lock: the process
// ends with a fault (dotnet/runtime#127957; .NET 8 and 9, and modules with fewer than 65,536
// parameters on 10). That happens once in the life of a module. So it happens here, with the
// runtime suspended and no thread at work, and not amid the compilations that an order sets off.
#include "agent/rejit.h"
#include "agent/running_threads.h"
#include "agent/snapshot.h"

namespace clrscope::agent {
namespace {

constexpr std::uint64_t kQuietWithinNs = 10'000'000, kHardlyNs = 1'000'000;
constexpr std::uint64_t kOpenForNs = 2'000'000;
constexpr int kMostAttempts = 20, kBetweenAttemptsMs = 10;

bool becomes_quiet(std::uint64_t within_ns) {
  const auto end = monotonic_ns() + within_ns;
  while (other_threads_run()) {
    if (monotonic_ns() >= end) return false;
    syscall_raw(number::kSchedYield);
  }
  return true;
}

HResult open_for_writing(ComObject* runtime, Id module) {
  constexpr std::uint32_t kReadWrite = 1;
  ComObject* emit = nullptr;
  const auto result =
      call(runtime, info::kGetModuleMetaData, module, kReadWrite, &kMetadataEmit, &emit);
  if (emit) release(emit);
  return result < 0 || emit ? result : kFail;
}

}  // namespace

void Rejit::open_modules(ComObject* runtime) {
  std::uint32_t count = 0;
  auto* to_open = memory_->to_open;
  const Module* module = nullptr;
  for (std::uint32_t i = 0; i < entry_count_; ++i) {
    const auto& entry = memory_->entries[i];
    if (!entry.is_pending || (module && module->id == entry.module)) continue;
    module = module_of(entry.module);
    bool known = !module || module->is_open;
    for (std::uint32_t k = 0; k < count && !known; ++k) known = to_open[k].id == entry.module;
    if (!known) to_open[count++] = {entry.module, kFail};
  }
  if (count == 0) return;
  open_suspended(runtime, count);
  const Lock lock{lock_};
  for (std::uint32_t i = 0; i < count; ++i)
    if (auto* opened = module_of(to_open[i].id)) opened->is_open = to_open[i].result >= 0;
}

// A thread that is at work in the runtime itself soon waits for the end of the suspension. One that
// works through all attempts is in native code of the program and reads no metadata.
void Rejit::open_suspended(ComObject* runtime, std::uint32_t count) {
  auto* to_open = memory_->to_open;
  std::uint32_t next = 0;
  for (int attempt = 1; next < count && !cancelled_.load(std::memory_order_acquire); ++attempt) {
    std::uint64_t begin = 0;
    if (const auto suspended = suspend_runtime(runtime, begin); suspended >= 0) {
      // No lock of the agent may be taken here: a suspended thread can hold it.
      const bool is_last = attempt >= kMostAttempts;
      if (becomes_quiet(is_last ? kHardlyNs : kQuietWithinNs) || is_last) {
        const auto end = monotonic_ns() + kOpenForNs;
        do {
          auto& one = to_open[next++];
          one.result = open_for_writing(runtime, one.id);
        } while (next < count && monotonic_ns() < end);
      }
      (void)call(runtime, info::kResumeRuntime);
    } else if (attempt >= kMostAttempts) {
      for (; next < count; ++next) to_open[next].result = suspended;
    }
    if (next < count) syscall_raw(number::kPoll, 0, 0, kBetweenAttemptsMs);
  }
}

void Rejit::request_pending(ComObject* runtime) {
  Batch batch;
  for (std::uint32_t i = 0; !cancelled_.load(std::memory_order_acquire); ++i) {
    {
      const Lock lock{lock_};
      if (i >= entry_count_) break;
      auto& entry = memory_->entries[i];
      if (!entry.is_pending) continue;
      entry.is_pending = false;
      if (const auto* module = module_of(entry.module); !module || !module->is_open) {
        set_state(i, wire::ProbeState::kRefused, il::Reason::kRefusedByRuntime,
                  result_of_opening(entry.module));
        continue;
      }
      batch.modules[batch.count] = entry.module;
      batch.tokens[batch.count] = entry.token;
      batch.entries[batch.count++] = i;
    }
    if (batch.count == kBatch) request(runtime, batch);
  }
  request(runtime, batch);
}

HResult Rejit::result_of_opening(Id module) const {
  for (const auto& one : memory_->to_open)
    if (one.id == module) return one.result;
  return kFail;
}

}  // namespace clrscope::agent
