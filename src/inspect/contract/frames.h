// Managed frames by the runtime's own chain of explicit frames, which begins a walk without any
// register: what called out of managed code left its return address and stack pointer there.
// Contract: StackWalk 1 (.NET 10).
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "inspect/contract/code.h"
#include "inspect/contract/descriptor.h"
#include "unwind/unwinder.h"

namespace clrscope::inspect {

class Frames {
 public:
  static Result<Frames> open(Memory& memory, const Descriptor& descriptor, Code& code);

  struct Place {
    std::uint64_t pc = 0;
    std::uint64_t sp = 0;
    bool interrupted = false;  // pc is where it was stopped, not a return address
  };
  // From the innermost managed frame on. `registers` may be empty; they count only where they lie
  // in managed code.
  std::vector<Place> walk(std::uint64_t first_frame, const unwind::Registers& registers);

 private:
  Frames(Memory& memory, Code& code) : memory_(&memory), code_(&code) {}
  // The registers that an explicit frame keeps; nothing when it keeps none.
  std::optional<unwind::Registers> registers_of(std::uint64_t frame);
  std::optional<unwind::Registers> of_context(std::uint64_t context);
  bool step(unwind::Registers& registers, const unwind::UnwindRule& rule);

  Memory* memory_;
  Code* code_;
  std::uint32_t next_ = 0;
  struct {
    std::uint64_t inlined, resumable, redirected, faulting, software, hijack;
    std::uint64_t first_framed, last_framed;
  } kinds_{};
  struct {
    std::uint32_t sp, return_address, fp;
  } inlined_{};
  struct {
    std::uint32_t block, size, return_address, saved;
  } framed_{};
  struct {
    std::uint32_t r12, r13, r14, r15, rbx, rbp;
  } saved_{};
  std::uint32_t resumable_context_ = 0;
  std::uint32_t faulting_context_ = 0;
  std::uint32_t software_context_ = 0;
};

}  // namespace clrscope::inspect
