#include "inspect/contract/frames.h"

namespace clrscope::inspect {
namespace {

using unwind::Reg;

constexpr std::size_t kMostFrames = 4096;
constexpr int kMostExplicit = 65536;

// Where a Windows CONTEXT of this processor keeps what an unwinder asks for.
constexpr std::array<std::pair<Reg, std::uint32_t>, 8> kContext{{
    {unwind::kRbx, 0x90},
    {unwind::kRsp, 0x98},
    {unwind::kRbp, 0xa0},
    {unwind::kR12, 0xd8},
    {unwind::kR13, 0xe0},
    {unwind::kR14, 0xe8},
    {unwind::kR15, 0xf0},
    {unwind::kRip, 0xf8},
}};

}  // namespace

Result<Frames> Frames::open(Memory& memory, const Descriptor& descriptor, Code& code) {
  TRY(descriptor.require("StackWalk", 1));
  Frames made{memory, code};
  Needs needs{descriptor};
  made.next_ = needs.field("Frame", "Next");
  made.kinds_ = {.inlined = needs.number("InlinedCallFrameIdentifier"),
                 .resumable = needs.number("ResumableFrameIdentifier"),
                 .redirected = needs.number("RedirectedThreadFrameIdentifier"),
                 .faulting = needs.number("FaultingExceptionFrameIdentifier"),
                 .software = needs.number("SoftwareExceptionFrameIdentifier"),
                 .hijack = needs.number("HijackFrameIdentifier"),
                 // Prestub, call counting, stub dispatch, external method, dynamic helper.
                 .first_framed = needs.number("PrestubMethodFrameIdentifier"),
                 .last_framed = needs.number("DynamicHelperFrameIdentifier")};
  made.inlined_ = {.sp = needs.field("InlinedCallFrame", "CallSiteSP"),
                   .return_address = needs.field("InlinedCallFrame", "CallerReturnAddress"),
                   .fp = needs.field("InlinedCallFrame", "CalleeSavedFP")};
  made.framed_ = {.block = needs.field("FramedMethodFrame", "TransitionBlockPtr"),
                  .size = needs.size("TransitionBlock"),
                  .return_address = needs.field("TransitionBlock", "ReturnAddress"),
                  .saved = needs.field("TransitionBlock", "CalleeSavedRegisters")};
  made.saved_ = {.r12 = needs.field("CalleeSavedRegisters", "R12"),
                 .r13 = needs.field("CalleeSavedRegisters", "R13"),
                 .r14 = needs.field("CalleeSavedRegisters", "R14"),
                 .r15 = needs.field("CalleeSavedRegisters", "R15"),
                 .rbx = needs.field("CalleeSavedRegisters", "Rbx"),
                 .rbp = needs.field("CalleeSavedRegisters", "Rbp")};
  made.resumable_context_ = needs.field("ResumableFrame", "TargetContextPtr");
  made.faulting_context_ = needs.field("FaultingExceptionFrame", "TargetContext");
  made.software_context_ = needs.field("SoftwareExceptionFrame", "TargetContext");
  TRY(needs.met());
  return made;
}

std::vector<Frames::Place> Frames::walk(std::uint64_t first_frame,
                                        const unwind::Registers& registers) {
  std::vector<Place> places;
  std::optional<unwind::Registers> here;
  bool interrupted = false;
  if (registers.knows(unwind::kRip) && registers.knows(unwind::kRsp) &&
      registers.knows(unwind::kRbp) && code_->find(registers[unwind::kRip])) {
    here = registers;
    interrupted = true;
  }
  auto frame = first_frame;
  std::uint64_t reached = 0;  // the stack pointer so far: frames below it have been passed
  for (int frames = 0; places.size() < kMostFrames;) {
    if (!here) {
      if (frame == 0 || frame % 8 != 0 || ++frames > kMostExplicit) break;  // the last one is ~0
      if (frame >= reached) here = registers_of(frame);
      const auto next = memory_->pointer(frame + next_);
      if (!next || *next <= frame)
        frame = 0;  // further out, or it is no chain
      else
        frame = *next;
      if (here && (*here)[unwind::kRsp] < reached) here.reset();
      if (!here) continue;
    }
    const auto pc = (*here)[unwind::kRip];
    const auto block = code_->find(interrupted ? pc : pc - 1);
    if (!block || block->kind == CodeBlock::Kind::kStub) {
      here.reset();
      interrupted = false;
      continue;
    }
    places.push_back({pc, (*here)[unwind::kRsp], interrupted});
    const auto rule = code_->rule(*block, pc);
    if (!rule || !step(*here, *rule) || (*here)[unwind::kRsp] <= places.back().sp) here.reset();
    reached = here ? (*here)[unwind::kRsp] : places.back().sp + 8;
    interrupted = false;
  }
  return places;
}

std::optional<unwind::Registers> Frames::registers_of(std::uint64_t frame) {
  const auto kind = memory_->pointer(frame);
  if (!kind) return {};
  unwind::Registers registers;
  if (*kind == kinds_.inlined) {
    const auto sp = memory_->pointer(frame + inlined_.sp);
    const auto pc = memory_->pointer(frame + inlined_.return_address);
    const auto fp = memory_->pointer(frame + inlined_.fp);
    if (!sp || !pc || !fp || *pc == 0) return {};  // 0: it is not in a call
    registers.set(unwind::kRip, *pc);
    registers.set(unwind::kRsp, *sp);
    registers.set(unwind::kRbp, *fp);
    return registers;
  }
  if (*kind == kinds_.resumable || *kind == kinds_.redirected)
    return of_context(memory_->pointer(frame + resumable_context_).value_or(0));
  if (*kind == kinds_.faulting) return of_context(frame + faulting_context_);
  if (*kind == kinds_.software) return of_context(frame + software_context_);
  if (*kind < kinds_.first_framed || *kind > kinds_.last_framed) return {};
  const auto block = memory_->pointer(frame + framed_.block);
  const auto pc = block ? memory_->pointer(*block + framed_.return_address) : std::nullopt;
  if (!pc) return {};
  registers.set(unwind::kRip, *pc);
  registers.set(unwind::kRsp, *block + framed_.size);
  const std::array<std::pair<Reg, std::uint32_t>, 6> kept{{{unwind::kR12, saved_.r12},
                                                           {unwind::kR13, saved_.r13},
                                                           {unwind::kR14, saved_.r14},
                                                           {unwind::kR15, saved_.r15},
                                                           {unwind::kRbx, saved_.rbx},
                                                           {unwind::kRbp, saved_.rbp}}};
  for (const auto& [reg, offset] : kept)
    if (const auto value = memory_->pointer(*block + framed_.saved + offset))
      registers.set(reg, *value);
  return registers;
}

std::optional<unwind::Registers> Frames::of_context(std::uint64_t context) {
  unwind::Registers registers;
  for (const auto& [reg, offset] : kContext) {
    const auto value = memory_->pointer(context + offset);
    if (!value) return {};
    registers.set(reg, *value);
  }
  return registers;
}

bool Frames::step(unwind::Registers& registers, const unwind::UnwindRule& rule) {
  if (rule.cfa != unwind::UnwindRule::Cfa::kRegPlus || !registers.knows(rule.cfa_register))
    return false;
  const auto cfa =
      registers[rule.cfa_register] + static_cast<std::uint64_t>(std::int64_t{rule.cfa_offset});
  for (const auto reg : unwind::kKept) {
    const auto& saved = rule.of(reg);
    if (saved.kind() != unwind::Saved::kAtCfa) continue;
    const auto value =
        memory_->pointer(cfa + static_cast<std::uint64_t>(std::int64_t{saved.value()}));
    if (!value) return false;
    registers.set(reg, *value);
  }
  registers.set(unwind::kRsp, cfa);
  return registers[unwind::kRip] != 0;
}

}  // namespace clrscope::inspect
