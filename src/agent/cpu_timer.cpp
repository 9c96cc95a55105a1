#include "agent/cpu_timer.h"

#include <signal.h>

#include "agent/syscalls.h"
#include "wire/control.h"

namespace clrscope::agent {
namespace {

constexpr std::uint32_t kMostThreads = 8192;
constexpr std::uint32_t kPlaces = 32;  // that are tried for a thread in the table
constexpr std::uint64_t kShortestLookNs = 20'000'000;
constexpr std::uint64_t kLooksAtMost = 200;  // looks take at most this part of the time
constexpr std::uint64_t kShortestPeriodNs = 1'000'000;

constexpr int kSigProf = 27, kSigSegv = 11;
constexpr int kSiTimer = -2;
constexpr int kNotifyThread = 4;
constexpr int kThreadCpuClock = 3;
constexpr std::uint64_t kSaSigInfo = 4, kSaOnStack = 0x0800'0000, kSaRestart = 0x1000'0000,
                        kSaRestorer = 0x0400'0000;
constexpr std::uint64_t kDefaultAction = 0, kIgnore = 1;

// Words of the kernel's ucontext.
enum ContextWord : unsigned {
  kR8 = 5,
  kR9,
  kR10,
  kR11,
  kR12,
  kR13,
  kR14,
  kR15,
  kRdi,
  kRsi,
  kRbp,
  kRbx,
  kRdx,
  kRax,
  kRcx,
  kRsp,
  kRip,
  kSignalMask = 37,
};
constexpr ContextWord kOrder[wire::kRegisters] = {kRax, kRbx, kRcx, kRdx, kRsi, kRdi,
                                                  kRbp, kRsp, kRip, kR8,  kR9,  kR10,
                                                  kR11, kR12, kR13, kR14, kR15};

struct SignalInfo {
  int signal;
  int error;
  int code;
  int padding;
  int timer;
  int overrun;
  void* value;
};

struct SignalEvent {
  void* value;
  int signal;
  int notify;
  int thread;
  int padding[11];
};
static_assert(sizeof(SignalEvent) == 64);

struct TimerSpec {
  KernelTime interval;
  KernelTime first;
};

struct Action {
  std::uint64_t handler;
  std::uint64_t flags;
  std::uint64_t restorer;
  std::uint64_t mask;
};

struct IoVector {
  std::uint64_t base;
  std::uint64_t size;
};

// What SIGPROF did before us: for the control thread, and for the handler.
Action g_previous{};
std::atomic<std::uint64_t> g_previous_handler{kDefaultAction};
std::atomic<bool> g_previous_takes_info{false};
std::atomic<CpuTimers*> g_timers{nullptr};

// The clock of the CPU time of another thread.
int clock_of(std::uint32_t thread) { return static_cast<int>((~thread << 3) | 6U); }

// A handler that the program installed over ours usually calls ours in turn. When ours is on top
// again, a signal goes round: ours, theirs, ours. The second time it goes to the handler that
// theirs has replaced, the third time to nobody.
std::atomic<std::uint64_t> g_taker{0};  // the handler that was installed over ours
std::atomic<std::uint64_t> g_older_handler{kDefaultAction};
std::atomic<bool> g_older_takes_info{false};

struct Passing {
  std::atomic<const void*> context;  // of a signal that is being passed on; null: free
  std::atomic<std::uint32_t> times;
};
constexpr unsigned kMostPassing = 64;
constinit Passing g_passing[kMostPassing]{};

void call_handler(std::uint64_t handler, bool takes_info, int signal, SignalInfo* info,
                  void* context) {
  if (handler == kDefaultAction || handler == kIgnore) return;
  if (takes_info)
    reinterpret_cast<void (*)(int, siginfo_t*, void*)>(handler)(
        signal, reinterpret_cast<siginfo_t*>(info), context);
  else
    reinterpret_cast<void (*)(int)>(handler)(signal);
}

void call_previous(int signal, SignalInfo* info, void* context) {
  call_handler(g_previous_handler.load(std::memory_order_acquire),
               g_previous_takes_info.load(std::memory_order_acquire), signal, info, context);
}

void pass_on(int signal, SignalInfo* info, void* context) {
  if (g_taker.load(std::memory_order_acquire) == 0) return call_previous(signal, info, context);
  for (auto& one : g_passing) {
    if (one.context.load(std::memory_order_acquire) != context) continue;
    if (one.times.fetch_add(1, std::memory_order_relaxed) == 0)
      call_handler(g_older_handler.load(std::memory_order_acquire),
                   g_older_takes_info.load(std::memory_order_acquire), signal, info, context);
    return;
  }
  for (auto& one : g_passing) {
    const void* free = nullptr;
    if (!one.context.compare_exchange_strong(free, context, std::memory_order_acq_rel)) continue;
    one.times.store(0, std::memory_order_relaxed);
    call_previous(signal, info, context);
    one.context.store(nullptr, std::memory_order_release);
    return;
  }
}

// The end of the stack of the interrupted thread, as far as it can be told without a question.
// Both C libraries keep the thread's own block, which %fs:0 points to, at the end of its stack.
std::uint64_t thread_block() {
  std::uint64_t block = 0;
  __asm__("mov %%fs:0, %0" : "=r"(block));
  return block;
}

// Through the kernel, which does not fault. Where a seccomp filter refuses that: the rest of the
// page that the thread is using.
std::uint32_t copy_stack(std::uint32_t process, std::uint64_t sp, void* into, std::uint64_t size) {
  const IoVector to{reinterpret_cast<std::uintptr_t>(into), size};
  const IoVector from{sp, size};
  const auto got =
      syscall_raw(number::kProcessVmReadv, process, as_long(&to), 1, as_long(&from), 1);
  if (got > 0) return static_cast<std::uint32_t>(got);
  constexpr std::uint64_t kPage = 4096;
  constexpr long kNotPermitted = -1, kNoSuchCall = -38;
  if (got != kNotPermitted && got != kNoSuchCall) return 0;
  const auto rest = kPage - sp % kPage;
  if (size > rest) size = rest;
  const auto* words = reinterpret_cast<const volatile std::uint64_t*>(sp & ~std::uint64_t{7});
  for (std::uint64_t i = 0; i < size / 8; ++i) static_cast<std::uint64_t*>(into)[i] = words[i];
  return sp % 8 == 0 ? static_cast<std::uint32_t>(size & ~std::uint64_t{7}) : 0;
}

std::uint64_t parse_hex(const char*& at) {
  std::uint64_t value = 0;
  for (;; ++at) {
    const char c = *at;
    const int digit = c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
    if (digit < 0) return value;
    value = (value << 4) | static_cast<std::uint64_t>(digit);
  }
}

std::uint32_t parse_decimal(const char* at) {
  std::uint64_t value = 0;
  for (; *at >= '0' && *at <= '9' && value < 0xffff'ffff; ++at)
    value = value * 10 + static_cast<std::uint64_t>(*at - '0');
  return *at == 0 && value <= 0x7fff'ffff ? static_cast<std::uint32_t>(value) : 0;
}

// The end of the mapping "[stack]": where the first thread's stack ends. 0: not found.
std::uint64_t find_main_stack_end(char* buffer, std::uint32_t capacity) {
  auto file = static_cast<int>(syscall_raw(number::kOpen, as_long("/proc/self/maps"), 02000000));
  if (file < 0) return 0;
  std::uint64_t found = 0;
  std::uint32_t kept = 0;
  for (;;) {
    const auto got = syscall_raw(number::kRead, file, as_long(buffer + kept),
                                 static_cast<long>(capacity - 1 - kept));
    if (got <= 0) break;
    const auto filled = kept + static_cast<std::uint32_t>(got);
    std::uint32_t line = 0;
    for (std::uint32_t i = 0; i < filled; ++i) {
      if (buffer[i] != '\n') continue;
      constexpr char kName[] = "[stack]";
      constexpr std::uint32_t kLength = sizeof kName - 1;
      bool same = i - line > kLength;
      for (std::uint32_t k = 0; same && k < kLength; ++k)
        same = buffer[i - kLength + k] == kName[k];
      if (same) {
        const char* at = buffer + line;
        (void)parse_hex(at);
        if (*at == '-') found = parse_hex(++at);
      }
      line = i + 1;
    }
    kept = filled - line;
    if (kept >= capacity / 2) kept = 0;  // a line that long is not the one
    for (std::uint32_t i = 0; i < kept; ++i) buffer[i] = buffer[line + i];
  }
  close_fd(file);
  return found;
}

}  // namespace

struct CpuTimers::Slot {
  std::atomic<std::uint32_t> thread;  // 0: free
  std::uint32_t round;                // of the look that saw the thread last
  std::atomic<std::uint64_t> cpu_ns;  // of the thread at its last sample
  int timer;
  std::uint32_t used_at;  // its index in `used`
};

struct CpuTimers::Table {
  Slot slots[kMostThreads];
  std::uint32_t used[kMostThreads];  // indexes of slots in use
  std::uint32_t count;
  char buffer[16 << 10];
};

struct CpuSignal {
  static void handler(int signal, siginfo_t* told, void* context) {
    auto* info = reinterpret_cast<SignalInfo*>(told);
    auto* timers = g_timers.load(std::memory_order_acquire);
    if (timers && info->code == kSiTimer) {
      const auto at = reinterpret_cast<std::uintptr_t>(info->value);
      const auto first = reinterpret_cast<std::uintptr_t>(timers->table_->slots);
      if (at >= first && at - first < sizeof timers->table_->slots) {
        if ((at - first) % sizeof(CpuTimers::Slot) == 0)
          timers->sample(*static_cast<CpuTimers::Slot*>(info->value),
                         static_cast<const std::uint64_t*>(context),
                         info->overrun > 0 ? static_cast<std::uint32_t>(info->overrun) : 0);
        return;
      }
    }
    pass_on(signal, info, context);
  }
  static std::uint64_t address() { return reinterpret_cast<std::uintptr_t>(&handler); }
};

namespace {

// The thread sanitizer must know of handlers.
#if defined(__SANITIZE_THREAD__)
void get_action(Action& out) {
  struct sigaction now {};
  ::sigaction(kSigProf, nullptr, &now);
  out = {reinterpret_cast<std::uintptr_t>(now.sa_sigaction),
         static_cast<std::uint64_t>(static_cast<unsigned>(now.sa_flags)), 0, 0};
}
bool set_action(const Action& action) {
  struct sigaction next {};
  next.sa_sigaction = reinterpret_cast<void (*)(int, siginfo_t*, void*)>(action.handler);
  next.sa_flags = static_cast<int>(action.flags & ~kSaRestorer);
  return ::sigaction(kSigProf, &next, nullptr) == 0;
}
#else
void get_action(Action& out) {
  syscall_raw(number::kSigaction, kSigProf, 0, as_long(&out), sizeof out.mask);
}
bool set_action(const Action& action) {
  return syscall_raw(number::kSigaction, kSigProf, as_long(&action), 0, sizeof action.mask) == 0;
}
#endif

// The kernel returns from a handler through this.
extern "C" void clrscope_agent_sigreturn();
__asm__(
    ".pushsection .text\n"
    ".hidden clrscope_agent_sigreturn\n"
    ".globl clrscope_agent_sigreturn\n"
    ".type clrscope_agent_sigreturn, @function\n"
    "clrscope_agent_sigreturn:\n"
    "  mov $15, %eax\n"
    "  syscall\n"
    ".size clrscope_agent_sigreturn, .-clrscope_agent_sigreturn\n"
    ".popsection\n");

}  // namespace

// --- the signal ---

bool CpuTimers::take_signal() {
  Action before{};
  get_action(before);
  if (before.handler == CpuSignal::address()) return true;
  if (const auto last = g_previous_handler.load(); last != before.handler) {
    g_older_takes_info.store(g_previous_takes_info.load(), std::memory_order_release);
    g_older_handler.store(last, std::memory_order_release);
  }
  g_previous = before;
  g_previous_takes_info.store((before.flags & kSaSigInfo) != 0, std::memory_order_release);
  g_previous_handler.store(before.handler, std::memory_order_release);
  return set_action({.handler = CpuSignal::address(),
                     .flags = kSaSigInfo | kSaOnStack | kSaRestart | kSaRestorer,
                     .restorer = reinterpret_cast<std::uintptr_t>(&clrscope_agent_sigreturn),
                     .mask = before.mask});  // as the handler before us had it
}

// No handler before us: ignored, since the default action of the signal ends the process and one
// may still be on its way. Who has taken the signal since keeps it.
void CpuTimers::give_signal_back() {
  Action now{};
  get_action(now);
  if (now.handler != CpuSignal::address()) return;
  if (g_previous.handler == kDefaultAction)
    (void)set_action({.handler = kIgnore, .flags = kSaRestorer, .restorer = 0, .mask = 0});
  else
    (void)set_action(g_previous);
  // It has the signal again, and ours is called only by it.
  if (g_previous.handler == g_taker.load()) {
    g_previous_takes_info.store(g_older_takes_info.load(), std::memory_order_release);
    g_previous_handler.store(g_older_handler.load(), std::memory_order_release);
  }
}

// --- control thread ---

bool CpuTimers::start(Recorder& recorder, std::uint32_t rate) {
  if (running()) stop();
  if (!table_) table_ = static_cast<Table*>(map_memory(sizeof(Table)));
  if (!table_) return false;
  recorder_ = &recorder;
  process_ = static_cast<std::uint32_t>(syscall_raw(number::kGetpid));
  own_thread_ = thread_id();
  period_ns_ = 1'000'000'000 / (rate == 0 ? wire::kUsualCpuRate : rate);
  if (period_ns_ < kShortestPeriodNs) period_ns_ = kShortestPeriodNs;
  main_stack_end_ = find_main_stack_end(table_->buffer, sizeof table_->buffer);
  g_timers.store(this, std::memory_order_release);
  if (!take_signal()) return false;
  on_.store(true, std::memory_order_release);
  next_look_ns_ = 0;
  auto& unarmed = recorder.arena()->header.cpu_unarmed;
  const auto before = unarmed.load(std::memory_order_relaxed);
  look(monotonic_ns());
  if (listed_ && (table_->count > 0 || unarmed.load(std::memory_order_relaxed) == before))
    return true;
  stop();
  return false;
}

void CpuTimers::stop() {
  if (!running()) return;
  on_.store(false, std::memory_order_release);
  while (table_->count > 0) disarm(table_->used[table_->count - 1]);
  give_signal_back();
}

void CpuTimers::look(std::uint64_t now_ns) {
  if (!running() || now_ns < next_look_ns_) return;
  Action now{};
  get_action(now);
  if (now.handler != CpuSignal::address()) {
    recorder_->arena()->header.cpu_handler_taken.fetch_add(1, std::memory_order_relaxed);
    if (now.handler != kDefaultAction && now.handler != kIgnore)
      g_taker.store(now.handler, std::memory_order_release);
    (void)take_signal();
  }
  list_threads();
  const auto end = monotonic_ns();
  const auto pause = (end - now_ns) * kLooksAtMost;
  next_look_ns_ = end + (pause > kShortestLookNs ? pause : kShortestLookNs);
}

void CpuTimers::list_threads() {
  constexpr long kFolderCloexec = 0200000 | 02000000;
  auto folder =
      static_cast<int>(syscall_raw(number::kOpen, as_long("/proc/self/task"), kFolderCloexec));
  listed_ = folder >= 0;
  if (!listed_) return;
  ++round_;
  for (;;) {
    const auto got =
        syscall_raw(number::kGetdents64, folder, as_long(table_->buffer), sizeof table_->buffer);
    if (got <= 0) break;
    for (long at = 0; at < got;) {
      const char* entry = table_->buffer + at;
      std::uint16_t length = 0;
      __builtin_memcpy(&length, entry + 16, sizeof length);
      constexpr int kNameAt = 19;
      if (length <= kNameAt) break;
      if (const auto thread = parse_decimal(entry + kNameAt); thread != 0) on_thread(thread);
      at += length;
    }
  }
  close_fd(folder);
  for (std::uint32_t i = table_->count; i-- > 0;)
    if (table_->slots[table_->used[i]].round != round_) disarm(table_->used[i]);
}

void CpuTimers::on_thread(std::uint32_t thread) {
  if (thread == own_thread_) return;
  for (std::uint32_t i = 0; i < kPlaces; ++i) {
    auto& slot = table_->slots[(thread + i) % kMostThreads];
    if (slot.thread.load(std::memory_order_relaxed) != thread) continue;
    slot.round = round_;
    return;
  }
  arm(thread);
}

void CpuTimers::arm(std::uint32_t thread) {
  constexpr long kInvalid = -22;
  bool ended = false;
  for (std::uint32_t i = 0; i < kPlaces; ++i) {
    const auto place = (thread + i) % kMostThreads;
    auto& slot = table_->slots[place];
    if (slot.thread.load(std::memory_order_relaxed) != 0) continue;
    SignalEvent event{.value = &slot,
                      .signal = kSigProf,
                      .notify = kNotifyThread,
                      .thread = static_cast<int>(thread),
                      .padding = {}};
    const auto made =
        syscall_raw(number::kTimerCreate, clock_of(thread), as_long(&event), as_long(&slot.timer));
    ended = made == kInvalid;
    if (made != 0) break;
    slot.cpu_ns.store(clock_ns(clock_of(thread)), std::memory_order_relaxed);
    slot.round = round_;
    slot.used_at = table_->count;
    table_->used[table_->count++] = place;
    slot.thread.store(thread, std::memory_order_release);
    const KernelTime period{0, static_cast<std::int64_t>(period_ns_ % 1'000'000'000)};
    const KernelTime whole{1, 0};
    const auto& use = period_ns_ >= 1'000'000'000 ? whole : period;
    const TimerSpec spec{use, use};
    if (syscall_raw(number::kTimerSettime, slot.timer, 0, as_long(&spec), 0) == 0) return;
    disarm(place);
    break;
  }
  if (!ended) recorder_->arena()->header.cpu_unarmed.fetch_add(1, std::memory_order_relaxed);
}

void CpuTimers::disarm(std::uint32_t place) {
  auto& slot = table_->slots[place];
  syscall_raw(number::kTimerDelete, slot.timer);
  const auto last = table_->used[--table_->count];
  table_->used[slot.used_at] = last;
  table_->slots[last].used_at = slot.used_at;
  slot.thread.store(0, std::memory_order_release);
}

// --- in the signal handler, on any thread ---

void CpuTimers::sample(Slot& slot, const std::uint64_t* context, std::uint32_t overrun) {
  recorder_->enter();
  const auto begin = read_tsc();
  const auto thread = thread_id();
  auto& header = recorder_->arena()->header;
  // A signal of a timer that was deleted meanwhile, or of another thread's.
  if (on_.load(std::memory_order_acquire) &&
      slot.thread.load(std::memory_order_acquire) == thread) {
    if (overrun != 0) header.cpu_ticks_missed.fetch_add(overrun, std::memory_order_relaxed);
    if ((context[kSignalMask] >> (kSigSegv - 1) & 1) != 0) {
      header.cpu_skipped.fetch_add(1, std::memory_order_relaxed);
    } else {
      const auto sp = context[kRsp];
      const auto end = thread == process_ ? main_stack_end_ : thread_block();
      std::uint64_t size = end > sp ? end - sp : wire::kMostStackBytes;
      if (size > wire::kMostStackBytes) size = wire::kMostStackBytes;
      size = (size + 7) & ~std::uint64_t{7};
      const auto bytes = static_cast<std::uint32_t>(sizeof(wire::CpuSample) + size);
      recorder_->fill_record(thread, bytes, [&](void* memory) {
        auto* record = static_cast<wire::CpuSample*>(memory);
        const auto cpu = clock_ns(kThreadCpuClock);
        const auto before = slot.cpu_ns.load(std::memory_order_relaxed);
        record->header = {.kind = wire::RecordKind::kCpuSample,
                          .bytes = static_cast<std::uint16_t>(bytes),
                          .thread = thread,
                          .time = begin};
        record->monotonic_ns = monotonic_ns();
        record->weight_ns = cpu > before ? cpu - before : 0;
        record->missed = overrun;
        record->processor = 0;
        syscall_raw(number::kGetcpu, as_long(&record->processor));
        record->reserved = 0;
        for (std::uint32_t i = 0; i < wire::kRegisters; ++i)
          record->registers[i] = context[kOrder[i]];
        record->stack_bytes = copy_stack(process_, sp, record + 1, size);
        slot.cpu_ns.store(cpu, std::memory_order_relaxed);
      });
    }
  }
  recorder_->leave(read_tsc() - begin, wire::Spender::kCpu);
}

}  // namespace clrscope::agent
