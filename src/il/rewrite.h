// Puts probes into a method body: one at its beginning, one in a finally block around all of it.
//
//   start = 0; if (*gate != 0) start = enter(id, &saved);
//   try { the method, whose returns store their value and leave }
//   finally { if (start != 0) leave(id, start, saved); }
//   return the value
//
// With a `leave_fault` of its own, an exception that ends the method calls that:
//
//   try { … } fault { if (start != 0) leave_fault(id, start, saved); }
//   if (start != 0) leave(id, start, saved);
//   return the value
//
// The gate is one load and one branch while nothing is measured. Probes are called with calli,
// managed: native leaf functions that neither wait nor call the runtime. Short branches become long
// ones and tail calls plain ones; all else stays as it was. Allocates nothing, needs no library.
#pragma once

#include "il/signature.h"

namespace clrscope::il {

// What the C# compiler makes of an async method: the number of the await at which it goes on lies
// in a field, and while it runs in a local. Below 0: it does not wait.
struct StateMachine {
  static constexpr std::uint32_t kMostEnds = 16;

  std::uint32_t field = 0;    // token, as the code itself uses it
  std::uint32_t local = 0;    // number
  std::uint32_t handler = 0;  // offset of the handler that ends the method with an exception
  // Offsets where it says that it has ended, or yields a value. What it does next may run whoever
  // waits for it: the step ends here.
  std::uint32_t ends[kMostEnds]{};
  std::uint32_t end_count = 0;
};
// Whether a method without arguments is the step of a state machine.
bool find_state_machine(const Body& body, StateMachine& out);
// Bytes of code that come before this instruction.
std::uint32_t inserted_before(const StateMachine* machine, std::uint32_t offset);

constexpr std::uint32_t kNoArgument = 0xffff'ffff;

struct Probe {
  std::uint32_t id = 0;
  std::uint64_t gate = 0;         // address of 32 bits
  std::uint64_t enter = 0;        // int64 enter(int32 id, native int saved)
  std::uint64_t leave = 0;        // void leave(int32 id, int64 start, int64 saved)
  std::uint32_t enter_token = 0;  // signatures of the two, for calli
  std::uint32_t leave_token = 0;
  std::uint32_t locals_token = 0;  // of the signature that extend_locals() wrote
  // With a machine the probes have one more argument, the state, its handler begins with a call of
  // `fault`, and `leave` is called at its ends too.
  const StateMachine* machine = nullptr;
  std::uint64_t fault = 0;  // void fault(object exception, int64 start)
  std::uint32_t fault_token = 0;
  std::uint64_t leave_fault = 0;  // as leave, when an exception ends the method; not of a machine
  // Instead of the state: an object, the argument of this number, from 0 to 3.
  std::uint32_t argument = kNoArgument;
};
constexpr std::uint8_t kEnterSignature[] = {0x00, 0x02, 0x0a, 0x08, 0x18};
constexpr std::uint8_t kLeaveSignature[] = {0x00, 0x03, 0x01, 0x08, 0x0a, 0x0a};
constexpr std::uint8_t kEnterStepSignature[] = {0x00, 0x03, 0x0a, 0x08, 0x18, 0x08};
constexpr std::uint8_t kEnterArgumentSignature[] = {0x00, 0x03, 0x0a, 0x08, 0x18, 0x1c};
constexpr std::uint8_t kLeaveStepSignature[] = {0x00, 0x04, 0x01, 0x08, 0x0a, 0x0a, 0x08};
constexpr std::uint8_t kFaultSignature[] = {0x00, 0x02, 0x01, 0x1c, 0x0a};

// Where the pieces of a rewritten body are.
struct Layout {
  std::uint32_t size = 0;       // bytes of the whole body
  std::uint32_t try_begin = 0;  // offsets in the code; the enter probe lies before
  std::uint32_t handler = 0;
  std::uint32_t end = 0;                  // behind the handler: the only return
  bool has_fault = false;                 // the handler is a fault block; `leave` is at the end
  const StateMachine* machine = nullptr;  // of the probe
};

// Whether the body can be rewritten. `map` is scratch for code_size + 1 numbers.
Reason check_body(const Body& body, std::uint32_t* map, std::uint32_t map_count);

// Writes the new body. `map` then has the new offset of each instruction; kNotAnInstruction for
// other offsets.
constexpr std::uint32_t kNotAnInstruction = 0xffff'ffff;
Reason rewrite(const Body& body, const MethodSignature& signature, const NewLocals& locals,
               const Probe& probe, std::uint32_t* map, std::uint32_t map_count, std::uint8_t* out,
               std::uint32_t capacity, Layout& layout);

}  // namespace clrscope::il
