// Unwinds the threads of a live process as a test would see them: `unwind_live PID [--copy BYTES]`.
//
// Stops each thread for the time of reading its registers and stack, then prints one line per
// frame: "TID NUMBER PC MODULE NAME HOW" and one "TID stop REASON" per thread. tests/e2e compares
// this with gdb and with what the sample says of itself.
#include <dirent.h>
#include <fmt/format.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>

#include "base/text.h"
#include "symbols/native_names.h"
#include "unwind/code_map.h"

namespace {

using namespace clrscope;
using namespace clrscope::unwind;

std::vector<pid_t> threads_of(pid_t pid) {
  std::vector<pid_t> threads;
  DIR* folder = ::opendir(fmt::format("/proc/{}/task", pid).c_str());
  if (!folder) return threads;
  while (const dirent* entry = ::readdir(folder))
    if (const auto tid = parse_number(entry->d_name)) threads.push_back(static_cast<pid_t>(*tid));
  ::closedir(folder);
  return threads;
}

Registers registers_of(const user_regs_struct& r) {
  Registers out;
  const std::uint64_t values[kRegCount] = {r.rax, r.rdx, r.rcx, r.rbx, r.rsi, r.rdi,
                                           r.rbp, r.rsp, r.r8,  r.r9,  r.r10, r.r11,
                                           r.r12, r.r13, r.r14, r.r15, r.rip};
  for (std::size_t i = 0; i < kRegCount; ++i) out.set(static_cast<Reg>(i), values[i]);
  return out;
}

struct Stopped {
  Registers registers;
  std::vector<std::uint8_t> stack;
};

// Registers and stack of one thread; it runs on before this returns.
std::optional<Stopped> look_at(pid_t pid, pid_t tid, std::size_t copy) {
  if (::ptrace(PTRACE_SEIZE, tid, nullptr, nullptr) != 0) return std::nullopt;
  std::optional<Stopped> seen;
  if (::ptrace(PTRACE_INTERRUPT, tid, nullptr, nullptr) == 0 &&
      ::waitpid(tid, nullptr, __WALL) == tid) {
    user_regs_struct regs{};
    if (::ptrace(PTRACE_GETREGS, tid, nullptr, &regs) == 0) {
      seen = Stopped{registers_of(regs), std::vector<std::uint8_t>(copy)};
      // In steps, since the end of the stack may be nearer than the end of the copy.
      std::size_t done = 0;
      while (done < copy) {
        const auto step = std::min<std::size_t>(4096 - (regs.rsp + done) % 4096, copy - done);
        // NOLINTNEXTLINE(performance-no-int-to-ptr): an address of another process
        const iovec remote{reinterpret_cast<void*>(regs.rsp + done), step};
        const iovec local{seen->stack.data() + done, step};
        if (::process_vm_readv(pid, &local, 1, &remote, 1, 0) <= 0) break;
        done += step;
      }
      seen->stack.resize(done);
    }
  }
  ::ptrace(PTRACE_DETACH, tid, nullptr, nullptr);
  return seen;
}

class Namer {
 public:
  explicit Namer(pid_t pid)
      : pid_(pid), mappings_(code_mappings(pid).value_or(std::vector<CodeMapping>{})) {}

  std::string describe(std::uint64_t pc, const CodeRange* range) {
    if (!range) return "? ?";
    if (range->kind == CodeKind::kJit) return "[jit] ?";
    for (const auto& mapping : mappings_) {
      if (pc < mapping.start || pc >= mapping.end) continue;
      const auto module = mapping.path.substr(mapping.path.rfind('/') + 1);
      if (range->kind != CodeKind::kElf) return module + " ?";
      const auto [names, is_new] = names_.try_emplace(mapping.path);
      if (is_new)
        if (auto loaded = load_native_names(fmt::format("/proc/{}/root{}", pid_, mapping.path)))
          names->second = *std::move(loaded);
      auto name = names->second.name_at(pc - range->bias);
      for (auto& c : name)
        if (c == ' ') c = '_';
      return module + " " + (name.empty() ? "?" : name);
    }
    return "? ?";
  }

 private:
  pid_t pid_;
  std::vector<CodeMapping> mappings_;
  std::map<std::string, NativeNames> names_;
};

const char* name_of(FoundBy how) {
  static constexpr const char* kNames[] = {"sample", "table", "jit", "rbp", "instructions", "leaf"};
  return kNames[static_cast<std::size_t>(how)];
}

}  // namespace

int main(int argc, char** argv) {
  const auto number = argc > 1 ? parse_number(argv[1]) : std::nullopt;
  if (!number) return std::fprintf(stderr, "usage: unwind_live PID [COPY_BYTES]\n"), 3;
  const auto pid = static_cast<pid_t>(*number);
  const auto copy = argc > 2 ? parse_number(argv[2]).value_or(65536) : 65536;
  CodeMap map;
  auto space = address_space_of(pid, map);
  if (!space) return std::fprintf(stderr, "unwind_live: %s\n", space.error().what.c_str()), 1;
  ProcessCode code{pid};
  Unwinder unwinder{*space, nullptr, &code};
  Namer namer{pid};
  std::vector<Frame> frames(1024);
  int seen = 0;
  for (const auto tid : threads_of(pid)) {
    const auto stopped = look_at(pid, tid, copy);
    if (!stopped) continue;
    ++seen;
    const StackCopy stack{stopped->registers[kRsp], stopped->stack};
    auto unwound = unwinder.unwind(stopped->registers, stack, frames);
    if (unwound.stop == Stop::kBadAddress) {  // code that was jitted since we looked
      if (auto fresh = address_space_of(pid, map)) *space = *std::move(fresh);
      unwound = unwinder.unwind(stopped->registers, stack, frames);
    }
    for (std::size_t i = 0; i < unwound.frames; ++i) {
      const auto& frame = frames[i];
      const auto at = frame.lookup_pc();
      fmt::print("{} {} {:x} {} {}\n", tid, i, frame.pc, namer.describe(at, space->find(at)),
                 name_of(frame.found_by));
    }
    fmt::print("{} stop {}\n", tid, unwind::name_of(unwound.stop));
  }
  if (seen == 0) return std::fprintf(stderr, "unwind_live: ptrace is refused\n"), 4;
  return 0;
}
