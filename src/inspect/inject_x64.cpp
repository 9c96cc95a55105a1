#include "inspect/inject_x64.h"

#include <elf.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <string_view>
#include <vector>

namespace clrscope::inspect {
namespace {

using namespace std::string_view_literals;

constexpr std::string_view kCall = "\x0f\x05\x48\x3d\x01\xf0\xff\xff\x73\x01\xc3"sv;
constexpr std::string_view kRestore = "\x48\xc7\xc0\x0f\x00\x00\x00\x0f\x05"sv;
constexpr std::string_view kExit = "\x89\xd0\x0f\x05"sv;
constexpr std::size_t kMostCode = 32 << 20;

// What the kernel reads at rt_sigreturn; see its struct ucontext.
struct SignalFrame {
  std::uint64_t return_to;
  std::uint64_t flags;
  std::uint64_t link;
  std::uint64_t stack_pointer;
  std::uint32_t stack_flags;
  std::uint32_t pad;
  std::uint64_t stack_size;
  std::uint64_t r8, r9, r10, r11, r12, r13, r14, r15, rdi, rsi, rbp, rbx, rdx, rax, rcx, rsp, rip;
  std::uint64_t eflags;
  std::uint16_t cs, gs, fs, ss;
  std::uint64_t error, trap, old_mask, cr2, floating;
  std::uint64_t reserved[8];
  std::uint64_t mask;
};
static_assert(sizeof(SignalFrame) == 8 + 40 + 256 + 8);

struct State {
  user_regs_struct user{};
  std::uint64_t mask = 0;
  std::vector<std::uint8_t> floating;  // XSAVE image

  bool save(pid_t tid) {
    if (::ptrace(PTRACE_GETREGS, tid, nullptr, &user) != 0) return false;
    if (::ptrace(static_cast<__ptrace_request>(PTRACE_GETSIGMASK), tid, sizeof mask, &mask) != 0)
      return false;
    floating.resize(64 << 10);
    iovec vector{floating.data(), floating.size()};
    if (::ptrace(PTRACE_GETREGSET, tid, NT_X86_XSTATE, &vector) != 0) return false;
    floating.resize(vector.iov_len);
    return floating.size() >= 576;
  }
};

bool set_mask(pid_t tid, std::uint64_t mask) {
  return ::ptrace(static_cast<__ptrace_request>(PTRACE_SETSIGMASK), tid, sizeof mask, &mask) == 0;
}

SignalFrame frame_of(const State& state, std::uint64_t return_to, std::uint64_t floating) {
  const auto& user = state.user;
  SignalFrame frame{};
  frame.return_to = return_to;
  frame.flags = 7;                 // extended state, and the stack segment as given
  frame.stack_flags = 0x7fffffff;  // not valid: the alternate stack stays as it is
  frame.r8 = user.r8, frame.r9 = user.r9, frame.r10 = user.r10, frame.r11 = user.r11;
  frame.r12 = user.r12, frame.r13 = user.r13, frame.r14 = user.r14, frame.r15 = user.r15;
  frame.rdi = user.rdi, frame.rsi = user.rsi, frame.rbp = user.rbp, frame.rbx = user.rbx;
  frame.rdx = user.rdx, frame.rax = user.rax, frame.rcx = user.rcx, frame.rsp = user.rsp;
  frame.rip = user.rip, frame.eflags = user.eflags;
  frame.cs = static_cast<std::uint16_t>(user.cs);
  frame.ss = static_cast<std::uint16_t>(user.ss);
  frame.floating = floating;
  frame.mask = state.mask;
  // An interrupted system call is made again, as the kernel would.
  const auto code = static_cast<std::int64_t>(user.rax);
  if (static_cast<std::int64_t>(user.orig_rax) >= 0) {
    if (code <= -512 && code >= -514) frame.rax = user.orig_rax, frame.rip -= 2;
    if (code == -516) frame.rax = static_cast<std::uint64_t>(-EINTR);
  }
  return frame;
}

// Lays the frame below the stack; the stack pointers for the thread and for a child of it.
struct Laid {
  std::uint64_t sp = 0;
  std::uint64_t child_sp = 0;
};
Result<Laid> lay_frame(pid_t pid, const State& state, const Gadgets& gadgets) {
  const auto size = state.floating.size();
  const auto floating = (state.user.rsp - 128 - size - 4) & ~std::uint64_t{63};
  const Laid laid{.sp = (floating - sizeof(SignalFrame)) & ~std::uint64_t{15},
                  .child_sp = ((floating - sizeof(SignalFrame)) & ~std::uint64_t{15}) - 64};
  std::vector<std::uint8_t> bytes(floating + size + 4 - laid.child_sp);
  const auto put = [&](std::uint64_t at, const void* from, std::size_t count) {
    std::memcpy(bytes.data() + (at - laid.child_sp), from, count);
  };
  const auto frame = frame_of(state, gadgets.restore, floating);
  put(laid.child_sp, &gadgets.exit, 8);
  put(laid.sp, &frame, sizeof frame);
  put(floating, state.floating.data(), size);
  // What tells the kernel that all of the state is there: see struct _fpx_sw_bytes.
  struct {
    std::uint32_t magic, extended_size;
    std::uint64_t features;
    std::uint32_t size;
  } mark{0x46505853, static_cast<std::uint32_t>(size + 4), 0, static_cast<std::uint32_t>(size)};
  std::memcpy(&mark.features, state.floating.data() + 464, 8);
  put(floating + 464, &mark, 20);
  const std::uint32_t end = 0x46505845;
  put(floating + size, &end, 4);
  const iovec local{bytes.data(), bytes.size()};
  // NOLINTNEXTLINE(performance-no-int-to-ptr): an address of another process
  const iovec remote{reinterpret_cast<void*>(laid.child_sp), bytes.size()};
  if (::process_vm_writev(pid, &local, 1, &remote, 1, 0) != static_cast<ssize_t>(bytes.size()))
    return fail(Errc::kSystem, "not enough space below the stack at {:#x}", state.user.rsp);
  return laid;
}

// Lets the thread make the call, and stop where a call that was interrupted before can be made
// again. Not by single steps: these outlive a tracer that is killed.
Result<InjectedCall> run_call(pid_t pid, pid_t tid, int& held_back) {
  InjectedCall call;
  bool entered = false;
  bool done = false;
  for (auto request = PTRACE_SYSCALL;;) {
    if (::ptrace(request, tid, nullptr, nullptr) != 0) break;
    int status = 0;
    if (::waitpid(tid, &status, __WALL) != tid || !WIFSTOPPED(status)) break;
    const auto event = status >> 16;
    if (event == PTRACE_EVENT_CLONE) {
      unsigned long child = 0;
      ::ptrace(PTRACE_GETEVENTMSG, tid, nullptr, &child);
      call.child = static_cast<pid_t>(child);
    } else if (event != 0) {
      if (done && !(call.result <= -512 && call.result >= -516)) return call;
      if (done) entered = done = false;  // the kernel makes it again
      request = PTRACE_SYSCALL;
    } else if (WSTOPSIG(status) == (SIGTRAP | 0x80)) {
      entered = !entered;
      if (entered) continue;
      user_regs_struct user{};
      if (::ptrace(PTRACE_GETREGS, tid, nullptr, &user) != 0) break;
      call.result = static_cast<long>(user.rax);
      done = true;
      ::ptrace(PTRACE_INTERRUPT, tid, nullptr, nullptr);
      request = PTRACE_CONT;
    } else {
      held_back = WSTOPSIG(status);
    }
  }
  return fail(Errc::kGone, "process {} has ended", pid);
}

Result<InjectedCall> inject(pid_t pid, pid_t tid, const Gadgets& gadgets, long number,
                            std::array<std::uint64_t, 4> arguments, bool with_child) {
  State state;
  if (!state.save(tid))
    return fail(errc_of(errno), "cannot read the state of thread {}: {}", tid, errno_text());
  const auto laid = TRY(lay_frame(pid, state, gadgets));
  auto user = state.user;
  user.rip = gadgets.call;
  user.rsp = laid.sp;
  user.rax = static_cast<std::uint64_t>(number);
  user.orig_rax = ~std::uint64_t{0};
  user.rdi = arguments[0];
  user.rsi = with_child ? laid.child_sp : arguments[1];
  user.rdx = with_child ? SYS_exit_group : arguments[2];
  user.r10 = arguments[3];
  // From here to the end the frame is what the thread goes back to without us.
  if (::ptrace(PTRACE_SETREGS, tid, nullptr, &user) != 0)
    return fail(errc_of(errno), "cannot set the registers of thread {}: {}", tid, errno_text());
  set_mask(tid, ~std::uint64_t{0});
  ::ptrace(PTRACE_SETOPTIONS, tid, nullptr,
           PTRACE_O_TRACESYSGOOD | (with_child ? PTRACE_O_TRACECLONE : 0));
  int held_back = 0;
  auto call = run_call(pid, tid, held_back);
  ::ptrace(PTRACE_SETOPTIONS, tid, nullptr, 0);
  set_mask(tid, state.mask);
  ::ptrace(PTRACE_SETREGS, tid, nullptr, &state.user);
  if (held_back != 0) ::syscall(SYS_tgkill, pid, tid, held_back);
  return call;
}

}  // namespace

Result<Gadgets> find_gadgets(const std::vector<Mapping>& mappings, MemorySource& memory) {
  for (const auto& mapping : mappings) {
    const auto name = mapping.path.substr(mapping.path.rfind('/') + 1);
    if (!mapping.executable || (!name.starts_with("libc.so") && !name.starts_with("libc-")))
      continue;
    std::vector<std::uint8_t> bytes(
        std::min<std::uint64_t>(mapping.end - mapping.start, kMostCode));
    bytes.resize(memory.read(mapping.start, bytes));
    const auto code = as_text(bytes);
    const auto call = code.find(kCall);
    const auto restore = code.find(kRestore);
    const auto exit = code.find(kExit);
    if (call == code.npos || restore == code.npos || exit == code.npos) continue;
    return Gadgets{mapping.start + call, mapping.start + restore, mapping.start + exit};
  }
  return fail(Errc::kUnsupported, "its C library does not allow a safe copy")
      .hint("only glibc is supported; write a core instead: clrscope dump");
}

Result<InjectedCall> inject_call(pid_t pid, pid_t tid, const Gadgets& gadgets, long number,
                                 std::array<std::uint64_t, 4> arguments) {
  return inject(pid, tid, gadgets, number, arguments, false);
}

Result<InjectedCall> inject_clone(pid_t pid, pid_t tid, const Gadgets& gadgets,
                                  std::uint64_t flags) {
  return inject(pid, tid, gadgets, SYS_clone, {flags}, true);
}

}  // namespace clrscope::inspect
