// Registers and stacks of running threads, by a stop that is as short as it can be.
#include <sys/uio.h>

#include <algorithm>
#include <thread>

#include "inspect/proc_view.h"
#include "inspect/stopped_threads.h"
#include "inspect/target.h"

namespace clrscope::inspect {
namespace {

constexpr std::uint64_t kRedZone = 128;
// So long the others stand still for one that does not stop.
constexpr std::chrono::milliseconds kPatience{250};
// So long we wait for one that gets no CPU to stop on.
constexpr std::chrono::seconds kLongPatience{10};
constexpr std::size_t kMostStackBytes = 16 << 20;

std::size_t read_memory(pid_t pid, std::uint64_t address, std::span<std::uint8_t> out) {
  // NOLINTNEXTLINE(performance-no-int-to-ptr): an address of another process
  const iovec remote{reinterpret_cast<void*>(address), out.size()};
  const iovec local{out.data(), out.size()};
  const auto got = ::process_vm_readv(pid, &local, 1, &remote, 1, 0);
  return static_cast<std::size_t>(std::max<ssize_t>(got, 0));
}

// Fills `taken` from a stopped thread.
bool take(pid_t pid, const StoppedThread& thread, CapturedThread& taken) {
  const auto registers = thread.registers();
  if (!registers) return false;
  taken.tid = thread.tid;
  taken.registers = registers_of(*registers);
  taken.stack_address = registers->rsp - std::min<std::uint64_t>(registers->rsp, kRedZone);
  taken.stack.resize(read_memory(pid, taken.stack_address, taken.stack));
  return true;
}

Result<Capture> capture_here(pid_t pid, std::span<const pid_t> tids, std::size_t stack_bytes) {
  Capture capture;
  capture.threads.resize(tids.size());  // room is made before anything stands still
  for (auto& thread : capture.threads) thread.stack.resize(stack_bytes);

  StoppedThreads stopped{pid};
  TRY(stopped.add(tids));
  std::size_t used = 0;
  const Deadline last{kLongPatience};
  for (bool all = false; !all && !last.passed();) {
    all = stopped.wait(Deadline{kPatience});
    for (const auto& thread : stopped.threads())
      if (thread.stopped && take(pid, thread, capture.threads[used])) ++used;
    stopped.release();
    if (!all && stopped.hangs()) break;  // deep in the kernel
  }
  capture.pause = stopped.pause();
  capture.threads.resize(used);
  return capture;
}

}  // namespace

Result<Capture> capture_threads(pid_t pid, std::span<const pid_t> tids, std::size_t stack_bytes) {
  const auto proc = TRY(ProcView::open(pid));
  const auto own = TRY(proc.thread_ids());
  std::vector<pid_t> wanted;
  for (const auto tid : tids)
    if (std::ranges::binary_search(own, tid)) wanted.push_back(tid);
  Result<Capture> result = Capture{};
  // A thread of its own is the tracer: its end frees whatever could not be let go.
  std::thread{[&] {
    result = capture_here(pid, wanted, std::min(stack_bytes, kMostStackBytes));
  }}.join();
  return result;
}

}  // namespace clrscope::inspect
