#include "inspect/dac/sandbox_x64.h"

#include <fcntl.h>
#include <grp.h>
#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstring>
#include <string_view>
#include <vector>

namespace clrscope::inspect::dac {
namespace {

constexpr rlim_t kMostMemory = rlim_t{1} << 30;
constexpr rlim_t kMostCpuSeconds = 60;
constexpr rlim_t kMostFiles = 32;
constexpr uid_t kNobody = 65534;

constexpr std::array kAllowed{
    SYS_read,          SYS_pread64,
    SYS_write,         SYS_sendto,
    SYS_poll,          SYS_close,
    SYS_fstat,         SYS_lseek,
    SYS_mmap,          SYS_munmap,
    SYS_mprotect,      SYS_mremap,
    SYS_madvise,       SYS_brk,
    SYS_futex,         SYS_exit,
    SYS_exit_group,    SYS_rt_sigaction,
    SYS_rt_sigreturn,  SYS_rt_sigprocmask,
    SYS_sigaltstack,   SYS_gettid,
    SYS_getpid,        SYS_getsid,
    SYS_getuid,        SYS_geteuid,
    SYS_getgid,        SYS_getegid,
    SYS_clock_gettime, SYS_clock_getres,
    SYS_gettimeofday,  SYS_sched_getaffinity,
    SYS_sched_yield,   SYS_getrandom,
    SYS_pipe2,         SYS_dup,
    SYS_sysinfo,       SYS_restart_syscall,
};
// Answered by our handler, never by the kernel.
constexpr std::array kAnsweredHere{SYS_openat, SYS_open, SYS_newfstatat};
// No data access library needs these: the worker says so and ends.
struct Forbidden {
  long call;
  const char* what;
};
constexpr std::array kForbidden{
    Forbidden{SYS_socket, "use the network"},
    Forbidden{SYS_socketpair, "use the network"},
    Forbidden{SYS_connect, "use the network"},
    Forbidden{SYS_bind, "use the network"},
    Forbidden{SYS_clone, "start a process or thread"},
    Forbidden{SYS_clone3, "start a process or thread"},
    Forbidden{SYS_fork, "start a process or thread"},
    Forbidden{SYS_vfork, "start a process or thread"},
    Forbidden{SYS_execve, "start a program"},
    Forbidden{SYS_execveat, "start a program"},
    Forbidden{SYS_ptrace, "trace a process"},
    Forbidden{SYS_process_vm_readv, "read another process"},
    Forbidden{SYS_process_vm_writev, "write to another process"},
    Forbidden{SYS_kill, "signal a process"},
    Forbidden{SYS_setresuid, "change its rights"},
    Forbidden{SYS_setuid, "change its rights"},
    Forbidden{SYS_capset, "change its rights"},
    Forbidden{SYS_unlink, "delete a file"},
    Forbidden{SYS_unlinkat, "delete a file"},
    Forbidden{SYS_mount, "mount"},
};

int g_library = -1;
OnForbidden g_on_forbidden = nullptr;

// What the runtime's own library asks for and does without: its limits, and libraries that it is
// linked with.
bool is_harmless(std::string_view path) {
  return path.starts_with("/proc/") || path.starts_with("/sys/") || path == "/etc/ld.so.cache" ||
         path.find(".so") != std::string_view::npos;
}

long open_here(const char* path) {
  if (std::strcmp(path, kLibraryPath) == 0) {
    ::lseek(g_library, 0, SEEK_SET);  // copies share the place where reading goes on
    return ::dup(g_library);
  }
  if (!is_harmless(path)) g_on_forbidden("open a file", path);
  return -ENOENT;
}

long stat_here(long directory, const char* path, void* out, long flags) {
  if ((flags & AT_EMPTY_PATH) == 0 || *path != '\0') return -ENOENT;
  const auto result = ::syscall(SYS_fstat, directory, out);
  return result < 0 ? -errno : result;
}

void on_trapped_call(int, siginfo_t* info, void* context) {  // signal-safe
  const int kept_errno = errno;
  auto& registers = static_cast<ucontext_t*>(context)->uc_mcontext.gregs;
  const auto pointer = [&](int reg) {
    // NOLINTNEXTLINE(performance-no-int-to-ptr): a register is all that we have
    return reinterpret_cast<void*>(static_cast<std::uintptr_t>(registers[reg]));
  };
  long result = -ENOSYS;
  switch (info->si_syscall) {
    case SYS_openat:
      result = open_here(static_cast<const char*>(pointer(REG_RSI)));
      break;
    case SYS_open:
      result = open_here(static_cast<const char*>(pointer(REG_RDI)));
      break;
    case SYS_newfstatat:
      result = stat_here(registers[REG_RDI], static_cast<const char*>(pointer(REG_RSI)),
                         pointer(REG_RDX), registers[REG_R10]);
      break;
    default:
      for (const auto& one : kForbidden)
        if (one.call == info->si_syscall) g_on_forbidden(one.what, "");
  }
  registers[REG_RAX] = result;
  errno = kept_errno;
}

constexpr std::uint32_t at(std::size_t offset) { return static_cast<std::uint32_t>(offset); }

// The filter: one comparison and one verdict per call.
std::vector<sock_filter> make_filter() {
  std::vector<sock_filter> program;
  const auto load = [&](std::uint32_t offset) {
    program.push_back(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offset));
  };
  const auto verdict_if = [&](long value, std::uint32_t verdict) {
    program.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<std::uint32_t>(value), 0, 1));
    program.push_back(BPF_STMT(BPF_RET | BPF_K, verdict));
  };
  load(at(offsetof(seccomp_data, arch)));
  program.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AUDIT_ARCH_X86_64, 1, 0));
  program.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS));
  load(at(offsetof(seccomp_data, nr)));
  for (const auto call : kAllowed) verdict_if(call, SECCOMP_RET_ALLOW);
  for (const auto call : kAnsweredHere) verdict_if(call, SECCOMP_RET_TRAP);
  for (const auto& one : kForbidden) verdict_if(one.call, SECCOMP_RET_TRAP);
  const auto refuse = SECCOMP_RET_ERRNO | ENOSYS;
  // fcntl for flags and copies only: F_SETOWN could have the kernel send signals.
  program.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_fcntl, 0, 10));
  load(at(offsetof(seccomp_data, args[1])));
  for (const auto command : {F_GETFD, F_SETFD, F_GETFL, F_DUPFD_CLOEXEC})
    verdict_if(command, SECCOMP_RET_ALLOW);
  program.push_back(BPF_STMT(BPF_RET | BPF_K, refuse));
  // prlimit64 to ask, not to set: its third argument is no pointer.
  program.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_prlimit64, 0, 6));
  load(at(offsetof(seccomp_data, args[2])));
  program.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0, 1, 0));
  program.push_back(BPF_STMT(BPF_RET | BPF_K, refuse));
  load(at(offsetof(seccomp_data, args[2]) + 4));
  verdict_if(0, SECCOMP_RET_ALLOW);
  program.push_back(BPF_STMT(BPF_RET | BPF_K, refuse));
  return program;
}

Result<> limit(int resource, rlim_t most, const char* name) {
  rlimit now{};
  ::getrlimit(static_cast<__rlimit_resource_t>(resource), &now);
  const auto lower = now.rlim_max < most ? now.rlim_max : most;
  const rlimit wanted{lower, lower};
  if (::setrlimit(static_cast<__rlimit_resource_t>(resource), &wanted) != 0)
    return fail(Errc::kSystem, "cannot limit {} to {}: {}", name, most, errno_text());
  return {};
}

Result<> limit_all() {
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  TRY(limit(RLIMIT_AS, kMostMemory, "memory"));  // sanitizers reserve terabytes
#endif
  TRY(limit(RLIMIT_CPU, kMostCpuSeconds, "processor time"));
  TRY(limit(RLIMIT_NOFILE, kMostFiles, "open files"));
  TRY(limit(RLIMIT_FSIZE, 0, "file size"));
  TRY(limit(RLIMIT_MEMLOCK, 0, "locked memory"));
  return limit(RLIMIT_CORE, 0, "core size");
}

// Every right away, also those that the program's file may have.
Result<> drop_rights() {
  // Further walls where we may raise them; without them the filter alone stands.
  (void)::unshare(CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWNS | CLONE_NEWUTS);
  if (::geteuid() == 0) {
    (void)::setgroups(0, nullptr);
    (void)::setresgid(kNobody, kNobody, kNobody);  // not mapped in some user namespaces
    (void)::setresuid(kNobody, kNobody, kNobody);
  }
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  std::array<__user_cap_data_struct, 2> none{};
  if (::syscall(SYS_capset, &header, none.data()) != 0)
    return fail(Errc::kSystem, "cannot drop capabilities: {}", errno_text());
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
    return fail(Errc::kSystem, "cannot forbid new rights: {}", errno_text());
  ::prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
  return {};
}

}  // namespace

Result<> enter_sandbox(int library, OnForbidden on_forbidden) {
  g_library = library;
  g_on_forbidden = on_forbidden;
  TRY(limit_all());
  TRY(drop_rights());
  struct sigaction action {};
  action.sa_sigaction = on_trapped_call;
  action.sa_flags = SA_SIGINFO | SA_NODEFER;
  if (::sigaction(SIGSYS, &action, nullptr) != 0)
    return fail(Errc::kSystem, "cannot handle refused calls: {}", errno_text());
  auto filter = make_filter();
  const sock_fprog program{static_cast<unsigned short>(filter.size()), filter.data()};
  if (::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) != 0)
    return fail(Errc::kUnsupported, "cannot filter system calls: {}", errno_text());
  return {};
}

}  // namespace clrscope::inspect::dac
