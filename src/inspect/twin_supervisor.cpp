#include "inspect/twin_supervisor.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/close_range.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "base/io.h"
#include "base/proc.h"
#include "base/text.h"
#include "inspect/inject_x64.h"
#include "inspect/proc_view.h"
#include "inspect/stopped_threads.h"

namespace clrscope::inspect {
namespace {

constexpr std::chrono::seconds kStopPatience{2};
constexpr std::chrono::seconds kCollectionPatience{10};
constexpr std::chrono::seconds kReplyPatience{60};
constexpr std::uint64_t kTwinFlags =
    CLONE_FILES | CLONE_FS | CLONE_SYSVSEM;  // no signal at its end

// What the supervisor answers; the registers follow.
struct Reply {
  bool made = false;
  Errc code = Errc::kSystem;
  pid_t twin = 0;
  std::int64_t pause_ns = 0;
  std::uint32_t threads = 0;
  char what[320] = {};
  char hint[320] = {};
};

struct Made {
  pid_t twin = 0;
  std::chrono::nanoseconds pause{};
  std::vector<TwinSupervisor::Registers> registers{};
};

// Stops every thread, also those that are started meanwhile.
Result<> stop_all(const ProcView& proc, StoppedThreads& stopped) {
  for (std::size_t known = 0;;) {
    const auto ids = TRY(proc.thread_ids());
    TRY(stopped.add(ids));
    if (!stopped.wait(Deadline{kStopPatience}))
      return fail(Errc::kTimeout, "cannot stop process {}: a thread hangs in the kernel",
                  proc.pid());
    if (stopped.threads().size() <= known) return {};
    known = stopped.threads().size();
  }
}

// The best to make a call with: one that waits for a futex, which is simply waited for again.
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

std::vector<TwinSupervisor::Registers> registers_of_all(const StoppedThreads& stopped) {
  std::vector<TwinSupervisor::Registers> all;
  for (const auto& thread : stopped.threads())
    if (const auto user = thread.registers()) all.push_back({thread.tid, *user});
  return all;
}

Failure clone_refused(pid_t pid, long error_number) {
  if (error_number == EAGAIN)
    return fail(Errc::kDenied, "cannot make a twin of process {}: its number of processes is full",
                pid)
        .hint("raise pids.max of its control group, or its limit of processes");
  return fail(Errc::kDenied, "cannot make a twin of process {}: clone is refused to it: {}", pid,
              errno_text(static_cast<int>(error_number)))
      .hint("its seccomp filter forbids it: look without a twin, or write a core: clrscope dump");
}

bool collects_garbage(MemorySource& memory, std::uint64_t counter) {
  std::uint32_t value = 0;
  return counter != 0 &&
         memory.read(counter, {reinterpret_cast<std::uint8_t*>(&value), sizeof value}) ==
             sizeof value &&
         value != 0;
}

Result<Made> make(const ProcView& proc, const Gadgets& gadgets, MemorySource& memory,
                  const TwinWish& wish) {
  const Deadline last{kCollectionPatience};
  Made made;
  for (;;) {
    StoppedThreads stopped{proc.pid()};
    TRY(stop_all(proc, stopped));
    if (collects_garbage(memory, wish.gc_invalid_counter)) {
      stopped.release();
      made.pause = std::max(made.pause, stopped.pause());
      if (last.passed())
        return fail(Errc::kTimeout, "cannot make a twin of process {}: it collects all the time",
                    proc.pid());
      ::poll(nullptr, 0, 2);
      continue;
    }
    made.registers = registers_of_all(stopped);
    const auto caller = caller_among(made.registers, stopped.threads());
    if (caller == 0)
      return fail(Errc::kTimeout, "cannot make a twin of process {}: no thread is free",
                  proc.pid());
    const auto call = TRY(inject_clone(proc.pid(), caller, gadgets, kTwinFlags));
    if (call.child != 0) {
      int status = 0;
      ::waitpid(call.child, &status, __WALL);
      ::ptrace(PTRACE_SETOPTIONS, call.child, nullptr, PTRACE_O_EXITKILL);
    }
    stopped.release();
    made.pause = std::max(made.pause, stopped.pause());
    if (call.child == 0) return clone_refused(proc.pid(), -call.result);
    made.twin = call.child;
    return made;
  }
}

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

// Has the process itself take leave of its ended twins, by one thread.
Result<> reap_twins(const ProcView& proc, const Gadgets& gadgets) {
  for (const auto twin : ended_twins(proc.pid())) {
    for (const auto tid : TRY(proc.thread_ids())) {
      StoppedThreads stopped{proc.pid()};
      TRY(stopped.add({&tid, 1}));
      if (!stopped.wait(Deadline{kStopPatience})) continue;
      if (caller_among(registers_of_all(stopped), stopped.threads()) != tid) continue;
      const auto call = inject_call(proc.pid(), tid, gadgets, SYS_wait4,
                                    {static_cast<std::uint64_t>(twin), 0, __WALL | WNOHANG, 0});
      if (call && call->result != 0) break;
    }
  }
  return {};
}

void say(int line, const Result<Made>& made) {
  Reply reply;
  if (made) {
    reply.made = true;
    reply.twin = made->twin;
    reply.pause_ns = made->pause.count();
    reply.threads = static_cast<std::uint32_t>(made->registers.size());
  } else {
    reply.code = made.error().code;
    made.error().what.copy(reply.what, sizeof reply.what - 1);
    made.error().hint.copy(reply.hint, sizeof reply.hint - 1);
  }
  (void)write_all(line, {reinterpret_cast<const std::uint8_t*>(&reply), sizeof reply});
  if (made)
    (void)write_all(line, {reinterpret_cast<const std::uint8_t*>(made->registers.data()),
                           made->registers.size() * sizeof(TwinSupervisor::Registers)});
}

struct Surgery {
  ProcView proc;
  std::unique_ptr<MemorySource> memory;
  Gadgets gadgets;
};
Result<Surgery> prepare(pid_t pid) {
  auto proc = TRY(ProcView::open(pid));
  auto memory = TRY(open_live_memory(pid));
  const auto mappings = TRY(proc.mappings());
  const auto gadgets = TRY(find_gadgets(mappings, *memory));
  return Surgery{std::move(proc), std::move(memory), gadgets};
}

// Another tracer may be at it just now, such as the supervisor of a later twin.
void reap_in_the_end(const Surgery& surgery) {
  const Deadline last{kCollectionPatience};
  for (;;) {
    (void)reap_twins(surgery.proc, surgery.gadgets);
    if (ended_twins(surgery.proc.pid()).empty() || last.passed()) return;
    ::poll(nullptr, 0, 20);
  }
}

Result<Made> operate(const TwinWish& wish, Surgery& surgery) {
  (void)reap_twins(surgery.proc, surgery.gadgets);  // of an earlier visit that was killed
  return make(surgery.proc, surgery.gadgets, *surgery.memory, wish);
}

void supervise(pid_t pid, const TwinWish& wish, int line) {
  auto surgery = prepare(pid);
  if (!surgery) return say(line, Result<Made>{fail(surgery.error())});
  const auto made = operate(wish, *surgery);
  if (made) {
    const auto path = fmt::format("/proc/{}/oom_score_adj", made->twin);
    const UniqueFd adjust{::open(path.c_str(), O_WRONLY | O_CLOEXEC)};
    if (adjust) (void)write_all(adjust.get(), as_bytes("1000"));
  }
  say(line, made);
  if (!made) return;
  char end = 0;
  while (::read(line, &end, 1) < 0 && errno == EINTR) {
  }
  ::kill(made->twin, SIGKILL);
  int status = 0;
  while (::waitpid(made->twin, &status, __WALL) == made->twin && WIFSTOPPED(status)) {
  }
  reap_in_the_end(*surgery);
}

// A child that runs `work` with nothing of ours but one descriptor, its number 3.
template <class Work>
pid_t fork_alone(int line, const Work& work) {
  const auto child = ::fork();
  if (child != 0) return child;
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGPIPE, SIGQUIT}) ::signal(signal, SIG_IGN);
  if (line >= 0 && line != 3) ::dup2(line, 3);
  ::syscall(SYS_close_range, line >= 0 ? 4U : 3U, ~0U, 0U);
  work(3);
  ::_exit(0);
}

}  // namespace

Result<std::unique_ptr<TwinSupervisor>> TwinSupervisor::start(pid_t pid, const TwinWish& wish) {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
    return fail(errc_of(errno), "cannot make a pair of sockets: {}", errno_text());
  auto self = std::make_unique<TwinSupervisor>(pid);
  self->line_.reset(ends[0]);
  {
    const UniqueFd theirs{ends[1]};
    self->supervisor_ = fork_alone(theirs.get(), [&](int line) { supervise(pid, wish, line); });
  }
  if (self->supervisor_ < 0) return fail(errc_of(errno), "cannot fork: {}", errno_text());
  Reply reply;
  const Deadline deadline{kReplyPatience};
  const auto answered = read_exact(
      self->line_.get(), {reinterpret_cast<std::uint8_t*>(&reply), sizeof reply}, deadline);
  if (!answered)
    return fail(Errc::kGone, "the supervisor of the twin of process {} has ended", pid);
  if (!reply.made) return fail(reply.code, "{}", reply.what).hint("{}", reply.hint);
  self->twin_ = reply.twin;
  self->pause_ = std::chrono::nanoseconds{reply.pause_ns};
  self->registers_.resize(reply.threads);
  TRY(read_exact(self->line_.get(),
                 {reinterpret_cast<std::uint8_t*>(self->registers_.data()),
                  self->registers_.size() * sizeof(Registers)},
                 deadline));
  return self;
}

TwinSupervisor::~TwinSupervisor() {
  if (supervisor_ <= 0) return;
  line_.reset();
  int status = 0;
  while (::waitpid(supervisor_, &status, 0) < 0 && errno == EINTR) {
  }
  if (!WIFSIGNALED(status)) return;
  // It was killed, and the kernel has killed the twin: somebody must still see it off.
  const auto other = fork_alone(-1, [&](int) {
    if (const auto surgery = prepare(pid_)) reap_in_the_end(*surgery);
  });
  while (other > 0 && ::waitpid(other, &status, 0) < 0 && errno == EINTR) {
  }
}

}  // namespace clrscope::inspect
