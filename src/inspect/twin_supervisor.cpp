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
#include "base/text.h"
#include "inspect/headroom.h"
#include "inspect/page_costs.h"
#include "inspect/twin_surgery.h"

namespace clrscope::inspect {
namespace {

constexpr std::chrono::seconds kStopPatience{2};
constexpr std::chrono::seconds kCollectionPatience{10};
constexpr std::chrono::seconds kReplyPatience{60};
constexpr std::uint64_t kPage = 4096;
constexpr std::uint64_t kTwinFlags =
    CLONE_FILES | CLONE_FS | CLONE_SYSVSEM;  // no signal at its end

// What the supervisor answers; the registers follow.
struct Reply {
  bool made = false;
  Errc code = Errc::kSystem;
  pid_t twin = 0;
  std::int64_t pause_ns = 0;
  std::uint32_t stops = 0;
  std::uint32_t threads = 0;
  char what[320] = {};
  char hint[320] = {};
};

// What it says when the twin is gone.
struct Farewell {
  std::uint64_t copied_pages = 0;
  std::int64_t copying_ns = 0;
  std::int64_t first_writes_ns = 0;
  std::int64_t reap_ns = 0;
};

struct Made {
  pid_t twin = 0;
  std::chrono::nanoseconds pause{};  // of all stops
  std::uint32_t stops = 0;
  std::uint64_t pages = 0;   // that the twin shares
  std::uint64_t faults = 0;  // of the process, when the twin was there
  TraceTime let_go{};
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

Failure clone_refused(pid_t pid, long error_number) {
  if (error_number == EAGAIN)
    return fail(Errc::kDenied,
                "cannot make a twin of process {}: the limit on its number of processes is reached",
                pid)
        .hint("raise pids.max of its cgroup, or ulimit -u");
  return fail(Errc::kDenied, "cannot make a twin of process {}: clone is denied: {}", pid,
              errno_text(static_cast<int>(error_number)))
      .hint(
          "its seccomp filter denies it: use clrscope stacks, which needs no twin, or write a core "
          "with clrscope dump");
}

bool collects_garbage(MemorySource& memory, std::uint64_t counter) {
  std::uint32_t value = 0;
  return counter != 0 &&
         memory.read(counter, {reinterpret_cast<std::uint8_t*>(&value), sizeof value}) ==
             sizeof value &&
         value != 0;
}

// Page faults of the process so far that needed no disk.
std::uint64_t faults_of(const ProcView& proc) {
  const auto stat = proc.read("stat");
  if (!stat || stat->rfind(')') == std::string::npos) return 0;
  const auto fields = split(std::string_view{*stat}.substr(stat->rfind(')') + 2), ' ');
  return fields.size() > 7 ? parse_number(fields[7]).value_or(0) : 0;
}

// Waits for the end of a collection without stopping anybody; false when there is none in time.
bool await_no_collection(MemorySource& memory, std::uint64_t counter, const Deadline& last) {
  while (collects_garbage(memory, counter)) {
    if (last.passed()) return false;
    ::poll(nullptr, 0, 1);
  }
  return true;
}

Result<Made> make(const Surgery& surgery, const TwinOptions& request) {
  const auto& proc = surgery.proc;
  const auto counter = request.gc_invalid_counter.value_or(0);
  const Deadline last{kCollectionPatience};
  Made made{.pages = own_memory(proc.read("status").value_or("")) / kPage};
  for (;;) {
    if (!await_no_collection(*surgery.memory, counter, last))
      return fail(
          Errc::kTimeout,
          "cannot make a twin of process {}: its garbage collector never pauses long enough",
          proc.pid());
    ++made.stops;
    StoppedThreads stopped{proc.pid()};
    TRY(stop_all(proc, stopped));
    if (collects_garbage(*surgery.memory, counter)) {  // it began meanwhile
      stopped.release();
      made.pause += stopped.pause();
      continue;
    }
    made.registers = registers_of_all(stopped);
    const auto caller = caller_among(made.registers, stopped.threads());
    if (caller == 0)
      return fail(Errc::kTimeout, "cannot make a twin of process {}: no suitable thread found",
                  proc.pid());
    const auto call = TRY(inject_clone(proc.pid(), caller, surgery.gadgets, kTwinFlags));
    if (call.child != 0) {
      int status = 0;
      ::waitpid(call.child, &status, __WALL);
      ::ptrace(PTRACE_SETOPTIONS, call.child, nullptr, PTRACE_O_EXITKILL);
    }
    made.faults = faults_of(proc);
    made.let_go = TraceClock::now();
    stopped.release();
    made.pause += stopped.pause();
    if (call.child == 0) return clone_refused(proc.pid(), -call.result);
    made.twin = call.child;
    return made;
  }
}

void say(int line, const Result<Made>& made) {
  Reply reply;
  if (made) {
    reply.made = true;
    reply.twin = made->twin;
    reply.pause_ns = made->pause.count();
    reply.stops = made->stops;
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

void keep_until_told(pid_t twin, int line) {
  const auto path = fmt::format("/proc/{}/oom_score_adj", twin);
  const UniqueFd adjust{::open(path.c_str(), O_WRONLY | O_CLOEXEC)};
  if (adjust) (void)write_all(adjust.get(), as_bytes("1000"));
  char end = 0;
  while (::read(line, &end, 1) < 0 && errno == EINTR) {
  }
  ::kill(twin, SIGKILL);
  int status = 0;
  while (::waitpid(twin, &status, __WALL) == twin && WIFSTOPPED(status)) {
  }
}

std::chrono::nanoseconds times(std::chrono::nanoseconds each, std::uint64_t count) {
  return each * static_cast<std::int64_t>(count);
}

void supervise(pid_t pid, const TwinOptions& request, int line) {
  const auto surgery = Surgery::prepare(pid);
  if (!surgery) return say(line, Result<Made>{fail(surgery.error())});
  const auto costs = measure_page_costs();
  const auto before = try_to_reap_twins(*surgery);  // of an earlier visit that was killed
  const auto made = make(*surgery, request);
  say(line, made);
  if (!made) return;
  keep_until_told(made->twin, line);
  const auto lived = TraceClock::now() - made->let_go;
  const auto faults = faults_of(surgery->proc);
  Farewell last;
  last.copied_pages = faults - std::min(faults, made->faults);
  // However many threads copied: none of them can have been delayed for longer than the twin lived.
  last.copying_ns = std::min(lived, times(costs.copy, last.copied_pages)).count();
  const auto left = made->pages - std::min(made->pages, last.copied_pages);
  last.first_writes_ns = times(costs.first_write, left).count();
  last.reap_ns = (before + reap_twins(*surgery)).count();
  (void)write_all(line, {reinterpret_cast<const std::uint8_t*>(&last), sizeof last});
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

Result<std::unique_ptr<TwinSupervisor>> TwinSupervisor::start(pid_t pid,
                                                              const TwinOptions& request) {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
    return fail(errc_of(errno), "cannot make a pair of sockets: {}", errno_text());
  auto self = std::make_unique<TwinSupervisor>(pid);
  self->line_.reset(ends[0]);
  {
    const UniqueFd theirs{ends[1]};
    self->supervisor_ = fork_alone(theirs.get(), [&](int line) { supervise(pid, request, line); });
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
  self->cost_.pause = std::chrono::nanoseconds{reply.pause_ns};
  self->cost_.stops = reply.stops;
  self->registers_.resize(reply.threads);
  TRY(read_exact(self->line_.get(),
                 {reinterpret_cast<std::uint8_t*>(self->registers_.data()),
                  self->registers_.size() * sizeof(Registers)},
                 deadline));
  return self;
}

TwinCost TwinSupervisor::end() {
  if (supervisor_ <= 0) return cost_;
  ::shutdown(line_.get(), SHUT_WR);
  Farewell last;
  if (twin_ != 0 && read_exact(line_.get(), {reinterpret_cast<std::uint8_t*>(&last), sizeof last},
                               Deadline{kReplyPatience})) {
    cost_.copied_pages = last.copied_pages;
    cost_.copying = std::chrono::nanoseconds{last.copying_ns};
    cost_.first_writes = std::chrono::nanoseconds{last.first_writes_ns};
    cost_.reap_pause = std::chrono::nanoseconds{last.reap_ns};
  }
  line_.reset();
  int status = 0;
  while (::waitpid(supervisor_, &status, 0) < 0 && errno == EINTR) {
  }
  supervisor_ = 0;
  if (!WIFSIGNALED(status)) return cost_;
  // It was killed, and the kernel has killed the twin: somebody must still see it off.
  const auto other = fork_alone(-1, [&](int) {
    if (const auto surgery = Surgery::prepare(pid_)) (void)reap_twins(*surgery);
  });
  while (other > 0 && ::waitpid(other, &status, 0) < 0 && errno == EINTR) {
  }
  return cost_;
}

}  // namespace clrscope::inspect
