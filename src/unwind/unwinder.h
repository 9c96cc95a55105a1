// Registers and a copied piece of stack to frames, through native, ReadyToRun and jitted code.
//
// Each frame by the best rule there is for its code: the module's unwind table (.eh_frame, or the
// codes of a ReadyToRun image), what a JitUnwindInfo says, and the rbp chain for the rest. The
// innermost frame of code without a table is also looked at instruction by instruction, since it
// may have been caught before its frame was built or after it was taken down. Allocates nothing. An
// Unwinder belongs to one thread; an AddressSpace may be read by many. See docs/unwinding.md
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "unwind/lazy_table.h"
#include "unwind/unwind_table.h"

namespace clrscope::unwind {

struct Registers {
  std::array<std::uint64_t, kRegCount> values{};  // by Reg
  std::uint32_t known = 0;                        // bit n: register n has its frame's value

  std::uint64_t operator[](Reg reg) const { return values[reg]; }
  bool knows(Reg reg) const { return (known >> reg & 1) != 0; }
  void set(Reg reg, std::uint64_t value) {
    values[reg] = value;
    known |= std::uint32_t{1} << reg;
  }
  void forget(Reg reg) { known &= ~(std::uint32_t{1} << reg); }
};

// Bytes of the thread's stack as they were with the registers; nothing else of its memory is read.
struct StackCopy {
  std::uint64_t address = 0;  // of the first byte: the stack pointer or below
  Bytes bytes{};

  bool read(std::uint64_t at, std::uint64_t& value) const {
    if (at < address || bytes.size() < 8 || at - address > bytes.size() - 8) return false;
    __builtin_memcpy(&value, bytes.data() + (at - address), 8);
    return true;
  }
};

enum class CodeKind : std::uint8_t {
  kElf,      // native: by its table; where that is silent, by rbp
  kR2r,      // a mapped ReadyToRun image: by its table; where that is silent, by rbp
  kJit,      // jitted code and stubs, in anonymous or memfd pages: by JitUnwindInfo, then by rbp
  kUnknown,  // executable, nothing known of it: by rbp
};

// One executable mapping.
struct CodeRange {
  std::uint64_t start = 0;
  std::uint64_t end = 0;
  std::uint64_t bias = 0;  // address - bias = the table's address (ELF vaddr, or RVA)
  CodeKind kind = CodeKind::kUnknown;
  const LazyTable* table = nullptr;  // outlives the space
};

// The executable mappings of one process.
class AddressSpace {
 public:
  // Sorts; where two overlap the later one given counts.
  void set(std::span<const CodeRange> ranges);
  void add(const CodeRange& range);
  void remove(std::uint64_t start, std::uint64_t end);

  const CodeRange* find(std::uint64_t address) const;
  std::span<const CodeRange> ranges() const { return ranges_; }

 private:
  std::vector<CodeRange> ranges_;  // by start, without overlap
};

// Unwind rules of jitted code, from whoever can read the runtime's own tables.
class JitUnwindInfo {
 public:
  virtual ~JitUnwindInfo() = default;
  // The rule that holds at `address`; false when it knows none. Rules have no expressions.
  virtual bool find(std::uint64_t address, UnwindRule& rule) const = 0;
};

// The instructions at an address of the process.
class CodeBytes {
 public:
  virtual ~CodeBytes() = default;
  // As many bytes as there are, up to out.size(); 0 when it cannot be read.
  virtual std::size_t read(std::uint64_t address, std::span<std::uint8_t> out) = 0;
};

enum class Stop : std::uint8_t {
  kRoot,        // the outermost frame: the stack is complete
  kNoMemory,    // the copy of the stack was too short
  kNoRule,      // no rule, or one that needs a register that is not known
  kLoop,        // the next frame would not be further out
  kBadAddress,  // a return address that points to no code
  kTooDeep,     // more frames than were asked for
};
inline constexpr std::size_t kStopCount = 6;
std::string_view name_of(Stop stop);

enum class FoundBy : std::uint8_t { kSample, kTable, kJitInfo, kRbp, kInstructions, kLeaf };

struct Frame {
  std::uint64_t pc = 0;
  std::uint64_t sp = 0;  // the stack pointer in this frame
  FoundBy found_by = FoundBy::kSample;
  bool interrupted =
      false;  // pc is where it was stopped, not a return address: look up pc, not pc - 1

  std::uint64_t lookup_pc() const { return interrupted ? pc : pc - 1; }
};

struct Unwound {
  std::size_t frames = 0;
  Stop stop = Stop::kRoot;
};

class Unwinder {
 public:
  // `jit` and `code` may be null; all outlive the unwinder.
  explicit Unwinder(const AddressSpace& space, const JitUnwindInfo* jit = nullptr,
                    CodeBytes* code = nullptr)
      : space_(space), jit_(jit), code_(code) {}

  // Frames from the innermost on. `registers` needs rip, rsp and rbp at least.
  Unwound unwind(const Registers& registers, const StackCopy& stack, std::span<Frame> frames);

  // The stack will be walked again, with more known: it counts once.
  void take_back(const Unwound& walked) { --stops_[static_cast<std::size_t>(walked.stop)]; }
  // How many stacks ended for which reason, by Stop.
  const std::array<std::uint64_t, kStopCount>& stops() const { return stops_; }

 private:
  struct Walk;
  bool step(Walk& walk) const;
  bool by_table(Walk& walk, const UnwindRule& rule, const LazyTable* table) const;
  bool by_rbp(Walk& walk) const;
  bool by_instructions(Walk& walk, const CodeRange& range) const;

  const AddressSpace& space_;
  const JitUnwindInfo* jit_;
  CodeBytes* code_;
  std::array<std::uint64_t, kStopCount> stops_{};
};

}  // namespace clrscope::unwind
