// What a table costs to make and a frame costs to find: unwind_bench [FILE…]
//
// For each ELF or PE file: time to read it and make its table, rows, bytes. Then the unwinder over
// its own stack, whose frames all go by .eh_frame, and over a made-up chain of jitted frames.
#include <ucontext.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <ctime>
#include <vector>

#include "symbols/native_file.h"
#include "symbols/native_names.h"
#include "symbols/pe.h"
#include "unwind/cfi_table.h"
#include "unwind/code_map.h"
#include "unwind/r2r_table.h"

namespace {

using namespace clrscope;
using namespace clrscope::unwind;

// Processor time of this thread: the machine may be busy with other things.
struct Clock {
  static double now() {
    timespec time{};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) * 1e3 + static_cast<double>(time.tv_nsec) / 1e6;
  }
};
double ms_since(double start) { return Clock::now() - start; }

void time_file(const char* path) {
  auto start = Clock::now();
  const auto file = NativeFile::open(path);
  if (!file) return (void)std::fprintf(stderr, "unwind_bench: %s\n", file.error().what.c_str());
  const auto read_ms = ms_since(start);
  start = Clock::now();
  UnwindTable table;
  double names_ms = 0;
  std::size_t names_bytes = 0;
  if (const auto elf = ElfFile::parse(file->bytes())) {
    table = make_cfi_table(*elf);
  } else if (const auto image = PeFile::parse(file->bytes())) {
    table = make_r2r_table(*image);
  }
  const auto table_ms = ms_since(start);
  start = Clock::now();
  if (const auto names = load_native_names(path)) {
    names_ms = ms_since(start);
    names_bytes = names->memory_bytes();
  }
  std::printf(
      "%s: read %.1f ms, table %.1f ms: %zu rows, %zu rules, %zu KB; names %.1f ms, %zu KB\n", path,
      read_ms, table_ms, table.rows().size(), table.rules().size(), table.memory_bytes() / 1024,
      names_ms, names_bytes / 1024);
}

template <class Work>
double ns_per(Work work, std::size_t& frames) {
  constexpr int kRounds = 20'000;
  const auto start = Clock::now();
  frames = 0;
  for (int i = 0; i < kRounds; ++i) frames += work();
  return ms_since(start) * 1e6 / static_cast<double>(frames);
}

// Our own registers and stack as a sample would have them.
void time_own_stack() {
  CodeMap map;
  const auto space = address_space_of(::getpid(), map);
  if (!space) return;
  ucontext_t context;
  ::getcontext(&context);
  const auto& g = context.uc_mcontext.gregs;
  Registers registers;
  const std::pair<Reg, int> wanted[] = {{kRip, REG_RIP}, {kRsp, REG_RSP}, {kRbp, REG_RBP},
                                        {kRbx, REG_RBX}, {kR12, REG_R12}, {kR13, REG_R13},
                                        {kR14, REG_R14}, {kR15, REG_R15}};
  for (const auto& [reg, index] : wanted)
    registers.set(reg, static_cast<std::uint64_t>(g[static_cast<std::size_t>(index)]));
  // NOLINTNEXTLINE(performance-no-int-to-ptr): our own stack
  const auto* top = reinterpret_cast<const std::uint8_t*>(registers[kRsp]);
  std::vector<std::uint8_t> copy(4096);
  std::memcpy(copy.data(), top, copy.size());
  Unwinder unwinder{*space};
  std::vector<Frame> frames(128);
  const StackCopy stack{registers[kRsp], copy};
  const auto once = unwinder.unwind(registers, stack, frames);
  std::size_t total = 0;
  const auto ns = ns_per([&] { return unwinder.unwind(registers, stack, frames).frames; }, total);
  std::printf("own stack: %.0f ns per frame by .eh_frame (%zu frames, %s)\n", ns, once.frames,
              std::string{name_of(once.stop)}.c_str());
}

__attribute__((noinline)) void deeper(int left) {
  if (left == 0) return time_own_stack();
  deeper(left - 1);
  asm volatile("" ::: "memory");  // no tail call
}

void time_jitted_chain() {
  constexpr std::uint64_t kStack = 0x7f0000000000;
  constexpr std::size_t kDepth = 60;
  std::vector<std::uint64_t> words(kDepth * 8 + 8);
  for (std::size_t i = 0; i < kDepth; ++i) {
    words[i * 8] = kStack + (i + 1) * 64;
    words[i * 8 + 1] = 0x10100;
  }
  AddressSpace space;
  for (std::uint64_t i = 0; i < 300; ++i)  // as many mappings as a .NET process has
    space.add({.start = 0x1000000 + i * 0x10000, .end = 0x1008000 + i * 0x10000});
  space.add({.start = 0x10000, .end = 0x20000, .kind = CodeKind::kJit});
  Registers registers;
  registers.set(kRip, 0x10100), registers.set(kRsp, kStack), registers.set(kRbp, kStack);
  const StackCopy stack{kStack,
                        {reinterpret_cast<const std::uint8_t*>(words.data()), words.size() * 8}};
  Unwinder unwinder{space};
  std::vector<Frame> frames(128);
  std::size_t total = 0;
  const auto ns = ns_per([&] { return unwinder.unwind(registers, stack, frames).frames; }, total);
  std::printf("jitted chain: %.0f ns per frame by rbp\n", ns);
}

}  // namespace

int main(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) time_file(argv[i]);
  deeper(20);
  time_jitted_chain();
  return 0;
}
