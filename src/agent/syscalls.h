// System calls without a C library: the agent links none. Results are as the kernel gives them:
// negative numbers are errors.
#pragma once

#include <cstddef>
#include <cstdint>

namespace clrscope::agent {

#if !defined(__x86_64__)
#error "the agent is written for x86-64"
#endif

namespace number {
enum Call : long {
  kRead = 0,
  kWrite = 1,
  kOpen = 2,
  kClose = 3,
  kLstat = 6,
  kPoll = 7,
  kMmap = 9,
  kMunmap = 11,
  kSigaction = 13,
  kSigprocmask = 14,
  kSchedYield = 24,
  kGetpid = 39,
  kSocket = 41,
  kSendmsg = 46,
  kRecvmsg = 47,
  kBind = 49,
  kListen = 50,
  kSetsockopt = 54,
  kGetsockopt = 55,
  kFcntl = 72,
  kFtruncate = 77,
  kMkdir = 83,
  kRmdir = 84,
  kUnlink = 87,
  kGeteuid = 107,
  kGettid = 186,
  kFutex = 202,
  kGetdents64 = 217,
  kTimerCreate = 222,
  kTimerSettime = 223,
  kTimerDelete = 226,
  kClockGettime = 228,
  kAccept4 = 288,
  kEventfd2 = 290,
  kGetcpu = 309,
  kProcessVmReadv = 310,
  kMemfdCreate = 319,
};
}  // namespace number

inline long syscall_raw(long call, long a = 0, long b = 0, long c = 0, long d = 0, long e = 0,
                        long f = 0) {
  long result = call;
  register long r10 __asm__("r10") = d;
  register long r8 __asm__("r8") = e;
  register long r9 __asm__("r9") = f;
  __asm__ volatile("syscall"
                   : "+a"(result)
                   : "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                   : "rcx", "r11", "memory");
  return result;
}

template <class T>
long as_long(T* pointer) {
  return static_cast<long>(reinterpret_cast<std::uintptr_t>(pointer));
}

inline void close_fd(int& fd) {
  if (fd >= 0) syscall_raw(number::kClose, fd);
  fd = -1;
}

struct KernelTime {
  std::int64_t seconds = 0;
  std::int64_t nanoseconds = 0;
};

// Of a clock by its number; 0: the kernel does not know it.
inline std::uint64_t clock_ns(int clock) {
  KernelTime now;
  syscall_raw(number::kClockGettime, clock, as_long(&now));
  return static_cast<std::uint64_t>(now.seconds) * 1'000'000'000 +
         static_cast<std::uint64_t>(now.nanoseconds);
}

inline std::uint64_t monotonic_ns() { return clock_ns(1); }

inline std::uint64_t read_tsc() {
  std::uint32_t low = 0, high = 0;
  __asm__ volatile("rdtsc" : "=a"(low), "=d"(high));
  return (static_cast<std::uint64_t>(high) << 32) | low;
}

inline std::uint32_t thread_id() {
  return static_cast<std::uint32_t>(syscall_raw(number::kGettid));
}

// Zeroed private memory, or null.
inline void* map_memory(std::size_t bytes, int fd = -1) {
  constexpr long kReadWrite = 3, kShared = 1, kPrivateAnonymous = 0x22;
  const long at = syscall_raw(number::kMmap, 0, static_cast<long>(bytes), kReadWrite,
                              fd < 0 ? kPrivateAnonymous : kShared, fd, 0);
  return at < 0 && at > -4096 ? nullptr : reinterpret_cast<void*>(static_cast<std::uintptr_t>(at));
}

}  // namespace clrscope::agent
