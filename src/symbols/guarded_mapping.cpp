#include "symbols/guarded_mapping.h"

#include <signal.h>
#include <sys/mman.h>

#include <array>
#include <atomic>
#include <cerrno>

namespace clrscope {
namespace {

constexpr std::uintptr_t kGuardPage = 4096;

// What the handler of SIGBUS may look at: no locks, no memory that goes away.
struct GuardSlot {
  std::atomic<bool> taken{false};
  std::atomic<std::uintptr_t> start{0};
  std::atomic<std::uintptr_t> end{0};  // 0: not mapped
};
constexpr std::size_t kMostMappings = 8192;
std::array<GuardSlot, kMostMappings> guard_slots;
std::atomic<std::size_t> slots_used{0};  // how many were ever in use
struct sigaction action_before;

bool is_guarded(std::uintptr_t address) {
  const auto used = slots_used.load(std::memory_order_acquire);
  for (std::size_t i = 0; i < used; ++i)
    if (address < guard_slots[i].end.load(std::memory_order_acquire) &&
        address >= guard_slots[i].start.load(std::memory_order_relaxed))
      return true;
  return false;
}

void on_bus_error(int number, siginfo_t* info, void* context) {
  const int kept = errno;
  const auto address = reinterpret_cast<std::uintptr_t>(info->si_addr);
  if (info->si_code > 0 && is_guarded(address)) {
    // NOLINTNEXTLINE(performance-no-int-to-ptr): the page that is missing
    auto* const page = reinterpret_cast<void*>(address & ~(kGuardPage - 1));
    if (::mmap(page, kGuardPage, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) !=
        MAP_FAILED) {
      errno = kept;
      return;
    }
  }
  if ((action_before.sa_flags & SA_SIGINFO) != 0) {
    action_before.sa_sigaction(number, info, context);
  } else if (action_before.sa_handler != SIG_DFL && action_before.sa_handler != SIG_IGN) {
    action_before.sa_handler(number);
  } else {
    // The fault happens again and ends the process, as it would have.
    ::signal(SIGBUS, SIG_DFL);
    if (info->si_code <= 0) ::raise(SIGBUS);
  }
  errno = kept;
}

bool install_handler() {
  struct sigaction action {};
  action.sa_sigaction = on_bus_error;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  ::sigemptyset(&action.sa_mask);
  if (::sigaction(SIGBUS, nullptr, &action_before) != 0) return false;
  return ::sigaction(SIGBUS, &action, nullptr) == 0;
}

std::size_t take_slot() {
  for (std::size_t i = 0; i < guard_slots.size(); ++i) {
    if (guard_slots[i].taken.exchange(true)) continue;
    auto used = slots_used.load();
    while (used <= i && !slots_used.compare_exchange_weak(used, i + 1)) {
    }
    return i;
  }
  return kMostMappings;
}

}  // namespace

Result<GuardedMapping> GuardedMapping::of(int fd, std::size_t size) {
  static const bool installed = install_handler();
  if (!installed) return fail(Errc::kSystem, "cannot map a file: no handler for SIGBUS");
  const auto slot = take_slot();
  if (slot == kMostMappings)
    return fail(Errc::kSystem, "cannot map a file: {} are mapped", kMostMappings);
  void* const start = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd, 0);
  if (start == MAP_FAILED) {
    const auto failed = errno;
    guard_slots[slot].taken = false;
    return fail(errc_of(failed), "cannot map a file: {}", errno_text(failed));
  }
  const auto from = reinterpret_cast<std::uintptr_t>(start);
  guard_slots[slot].start = from;
  guard_slots[slot].end = from + (size + kGuardPage - 1) / kGuardPage * kGuardPage;
  return GuardedMapping{Bytes{static_cast<const std::uint8_t*>(start), size}, slot};
}

void GuardedMapping::rest() const {
  if (!bytes_.empty())
    (void)::madvise(const_cast<std::uint8_t*>(bytes_.data()), bytes_.size(), MADV_DONTNEED);
}

GuardedMapping::~GuardedMapping() {
  if (bytes_.empty()) return;
  guard_slots[slot_].end = 0;  // before the addresses can belong to somebody else
  ::munmap(const_cast<std::uint8_t*>(bytes_.data()), bytes_.size());
  guard_slots[slot_].taken = false;
}

}  // namespace clrscope
