#include "inspect/page_costs.h"

#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <vector>

namespace clrscope::inspect {
namespace {

constexpr std::size_t kPage = 4096;
constexpr std::size_t kPages = 64;  // of each kind
constexpr std::size_t kStack = 64 << 10;
// What it costs at the least, should the measuring fail or flatter.
constexpr PageCosts kLeast{std::chrono::microseconds{2}, std::chrono::nanoseconds{700}};

enum Phase : int { kStarting, kSpinning, kOver };
struct Spin {
  volatile int phase = kStarting;
  pid_t parent = ::getpid();
};
constexpr int kMostTurns = 100'000'000;  // a fraction of a second

// The child of a parent that may be killed at any time.
void end_with(pid_t parent) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(0);
}

// Runs in our memory on another CPU, as another thread of the process would.
__attribute__((no_sanitize("thread", "address"))) int spin(void* argument) {
  auto& own = *static_cast<Spin*>(argument);
  end_with(own.parent);
  own.phase = kSpinning;
  for (int i = 0; i < kMostTurns && own.phase != kOver; ++i) {
  }
  ::_exit(0);
}

// Time on a CPU: that others wanted it too is none of the page's cost.
std::chrono::nanoseconds own_time() {
  timespec time{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return std::chrono::seconds{time.tv_sec} + std::chrono::nanoseconds{time.tv_nsec};
}

std::chrono::nanoseconds write_to(volatile std::uint8_t* pages) {
  const auto start = own_time();
  for (std::size_t i = 0; i < kPages; ++i) pages[i * kPage] = 2;
  return (own_time() - start) / kPages;
}

void end_child(pid_t child) {
  if (child <= 0) return;
  ::kill(child, SIGKILL);
  while (::waitpid(child, nullptr, __WALL) < 0 && errno == EINTR) {
  }
}

}  // namespace

PageCosts measure_page_costs() {
  auto* const memory = ::mmap(nullptr, 2 * kPages * kPage, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
  if (memory == MAP_FAILED) return kLeast;
  auto* const pages = static_cast<volatile std::uint8_t*>(memory);
  std::vector<std::uint8_t> stack(kStack);
  Spin own;
  const auto copy = ::fork();
  if (copy == 0) {
    end_with(own.parent);
    for (;;) ::pause();
  }
  const auto other = ::clone(spin, stack.data() + stack.size(), CLONE_VM, &own);
  for (int i = 0; i < kMostTurns && other > 0 && own.phase == kStarting; ++i) ::sched_yield();
  PageCosts costs = kLeast;
  if (copy > 0) costs.copy = std::max(kLeast.copy, write_to(pages));
  end_child(copy);
  if (copy > 0) costs.first_write = std::max(kLeast.first_write, write_to(pages + kPages * kPage));
  own.phase = kOver;
  end_child(other);
  ::munmap(memory, 2 * kPages * kPage);
  return costs;
}

}  // namespace clrscope::inspect
