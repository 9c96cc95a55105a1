#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "il/verify.h"

namespace clrscope::il {
namespace {

using Code = std::vector<std::uint8_t>;

constexpr std::uint32_t kEnter = 0x1100'0100, kLeaveToken = 0x1100'0101;
constexpr std::uint8_t kNop = 0x00, kLdArg0 = 0x02, kLdNull = 0x14, kLdcI4 = 0x1f, kPop = 0x26,
                       kReturn = 0x2a, kBranch = 0x2b, kThrowOp = 0x7a, kLeaveS = 0xde,
                       kEndFinallyOp = 0xdc;

void put32(Code& out, std::uint32_t value) {
  for (int i = 0; i < 4; ++i) out.push_back(static_cast<std::uint8_t>(value >> (i * 8)));
}

Code tiny(const Code& code) {
  Code out{static_cast<std::uint8_t>(code.size() << 2 | 2)};
  out.insert(out.end(), code.begin(), code.end());
  return out;
}

Code fat(const Code& code, const std::vector<Clause>& clauses = {}, bool small = false) {
  Code out{static_cast<std::uint8_t>(0x13 | (clauses.empty() ? 0 : 8)), 0x30, 3, 0};
  put32(out, static_cast<std::uint32_t>(code.size()));
  put32(out, 0);
  out.insert(out.end(), code.begin(), code.end());
  if (clauses.empty()) return out;
  while (out.size() % 4 != 0) out.push_back(0);
  const auto each = small ? 12U : 24U;
  put32(out, static_cast<std::uint32_t>(clauses.size() * each + 4) << 8 | (small ? 0x01 : 0x41));
  if (small) out[out.size() - 2] = out[out.size() - 1] = 0;
  for (const auto& clause : clauses) {
    if (small) {
      out.insert(out.end(), {static_cast<std::uint8_t>(clause.flags), 0,
                             static_cast<std::uint8_t>(clause.try_offset), 0,
                             static_cast<std::uint8_t>(clause.try_length),
                             static_cast<std::uint8_t>(clause.handler_offset), 0,
                             static_cast<std::uint8_t>(clause.handler_length)});
    } else {
      for (const auto value : {clause.flags, clause.try_offset, clause.try_length,
                               clause.handler_offset, clause.handler_length})
        put32(out, value);
    }
    put32(out, clause.token_or_filter);
  }
  return out;
}

std::optional<StackEffect> calls(std::uint16_t opcode, std::uint32_t token) {
  if (token == kEnter) return effect_of(opcode, kEnterSignature, sizeof kEnterSignature);
  if (token == kLeaveToken) return effect_of(opcode, kLeaveSignature, sizeof kLeaveSignature);
  const std::uint8_t nothing[] = {0x00, 0x00, 0x01};
  return effect_of(opcode, nothing, sizeof nothing);
}

struct Rewritten {
  Reason reason{};
  Code bytes;
  Layout layout;
  Body body;
  std::string wrong;  // of the verifier and the comparison
};

// `returns`: the bytes of the returned type.
Rewritten rewrite_it(const Code& bytes, const Code& returns = {0x01}, std::uint32_t room = 65536,
                     std::uint64_t leave_fault = 0) {
  Rewritten out;
  Code sig{0x00, 0x00};
  sig.insert(sig.end(), returns.begin(), returns.end());
  Body body;
  MethodSignature signature;
  NewLocals locals;
  Code local_bytes(256);
  std::vector<std::uint32_t> map(65536);
  out.bytes.resize(room);
  out.reason = parse_body(bytes.data(), static_cast<std::uint32_t>(bytes.size()), body);
  if (out.reason == Reason::kNone)
    out.reason =
        parse_method_signature(sig.data(), static_cast<std::uint32_t>(sig.size()), signature);
  if (out.reason == Reason::kNone)
    out.reason = extend_locals(nullptr, 0, signature, local_bytes.data(), 256, locals);
  if (out.reason == Reason::kNone)
    out.reason = rewrite(body, signature, locals,
                         {.id = 1,
                          .gate = 0x1000,
                          .enter = 0x2000,
                          .leave = 0x3000,
                          .enter_token = kEnter,
                          .leave_token = kLeaveToken,
                          .locals_token = 0x1100'0102,
                          .leave_fault = leave_fault},
                         map.data(), static_cast<std::uint32_t>(map.size()), out.bytes.data(), room,
                         out.layout);
  if (out.reason != Reason::kNone) return out;
  out.bytes.resize(out.layout.size);
  EXPECT_EQ(parse_body(out.bytes.data(), out.layout.size, out.body), Reason::kNone);
  out.wrong = verify_rewritten(out.body, out.layout, signature.is_void, calls);
  if (out.wrong.empty()) out.wrong = compare(body, out.body, out.layout, signature.is_void);
  return out;
}

// try { nop; leave } catch { pop; leave } finally { nop; endfinally } ret
Code nested() {
  return fat({kNop, kLeaveS, 3,               // 0: inner try
              kPop, kLeaveS, 0,               // 3: catch
              kLeaveS, 3, kNop,               // 6, 8: end of the outer try (unreachable nop)
              kNop, kEndFinallyOp, kReturn},  // 9: finally; 11
             {{.flags = kCatch,
               .try_offset = 0,
               .try_length = 3,
               .handler_offset = 3,
               .handler_length = 3,
               .token_or_filter = 0x0100'0001},
              {.flags = kFinally,
               .try_offset = 0,
               .try_length = 9,
               .handler_offset = 9,
               .handler_length = 2,
               .token_or_filter = 0}});
}

TEST(IlRewrite, KeepsATinyMethodAndReturnsItsValue) {
  const auto made = rewrite_it(tiny({kLdcI4, 7, kReturn}), {0x08});
  EXPECT_EQ(made.reason, Reason::kNone);
  EXPECT_EQ(made.wrong, "");
  EXPECT_EQ(made.body.max_stack, 8U);
  EXPECT_EQ(made.body.clause_count, 1U);
  EXPECT_EQ(made.body.locals, 0x1100'0102U);
}

TEST(IlRewrite, CallsAnotherProbeWhenAnExceptionEndsTheMethod) {
  for (const auto& method : {tiny({kLdcI4, 7, kReturn}), nested()}) {
    const bool returns = method.size() < 12;
    const auto made = rewrite_it(method, {std::uint8_t(returns ? 0x08 : 0x01)}, 65536, 0x4000);
    ASSERT_EQ(made.reason, Reason::kNone);
    EXPECT_EQ(made.wrong, "");
    EXPECT_TRUE(made.layout.has_fault);
    // In the handler the one for faults, behind it the other.
    const auto probe = [&](std::uint32_t from) {
      Instruction instruction;
      for (auto offset = from; offset < made.body.code_size; offset += instruction.size) {
        if (!decode(made.body.code, made.body.code_size, offset, instruction)) break;
        if (instruction.opcode == 0x21) return read32(made.body.code + instruction.operand);
      }
      return 0U;
    };
    EXPECT_EQ(probe(made.layout.handler), 0x4000U);
    EXPECT_EQ(probe(made.layout.end), 0x3000U);
  }
}

TEST(IlRewrite, MovesBranchesSwitchesAndClauses) {
  // 0: ldarg.0; 1: switch (2 targets: 16, 14); 14: br.s 16; 16: br.s 0 … back; 18: ret
  Code code{kLdArg0, 0x45};
  put32(code, 2);
  put32(code, 2);
  put32(code, 0);
  code.insert(code.end(), {kBranch, 0, kBranch, 0, kReturn});
  EXPECT_EQ(rewrite_it(fat(code)).wrong, "");
  const auto made = rewrite_it(nested());
  EXPECT_EQ(made.reason, Reason::kNone);
  EXPECT_EQ(made.wrong, "");
  EXPECT_EQ(made.body.clause_count, 3U);
  EXPECT_EQ(rewrite_it(fat({kNop, kLeaveS, 3, kPop, kLeaveS, 0, kReturn},
                           {{.flags = kCatch,
                             .try_offset = 0,
                             .try_length = 3,
                             .handler_offset = 3,
                             .handler_length = 3,
                             .token_or_filter = 1}},
                           true))
                .wrong,
            "");
}

TEST(IlRewrite, DropsTailPrefixesAndKeepsBranchesToThem) {
  // br.s to the prefix; tail. call; ret
  const auto made = rewrite_it(tiny({kBranch, 0, 0xfe, 0x14, 0x28, 1, 0, 0, 0x06, kReturn}));
  EXPECT_EQ(made.reason, Reason::kNone);
  EXPECT_EQ(made.wrong, "");
}

TEST(IlRewrite, SaysWhyAMethodStaysAsItIs) {
  EXPECT_EQ(rewrite_it(tiny({0x27, 1, 0, 0, 6})).reason, Reason::kJmp);
  EXPECT_EQ(rewrite_it(tiny({0xfe, 0x00, kPop, kReturn})).reason, Reason::kArgList);
  EXPECT_EQ(rewrite_it(tiny({kBranch, 1, kReturn})).reason, Reason::kBadTarget);
  EXPECT_EQ(rewrite_it(tiny({kBranch, 0x80, kReturn})).reason, Reason::kBadTarget);
  EXPECT_EQ(rewrite_it(tiny({0x24, kReturn})).reason, Reason::kDamaged);
  EXPECT_EQ(rewrite_it(tiny({0x45, 0xff, 0xff, 0xff, 0xff, kReturn})).reason, Reason::kDamaged);
  EXPECT_EQ(rewrite_it({}).reason, Reason::kNoBody);
  EXPECT_EQ(rewrite_it({0x13, 0x30}).reason, Reason::kDamaged);
  EXPECT_EQ(rewrite_it(fat({kReturn, kNop, kEndFinallyOp}, {{.flags = kFinally,
                                                             .try_offset = 0,
                                                             .try_length = 1,
                                                             .handler_offset = 1,
                                                             .handler_length = 2,
                                                             .token_or_filter = 0}}))
                .reason,
            Reason::kReturnInClause);
  EXPECT_EQ(rewrite_it(fat({kReturn}, {{.flags = kFinally,
                                        .try_offset = 0,
                                        .try_length = 90,
                                        .handler_offset = 0,
                                        .handler_length = 1,
                                        .token_or_filter = 0}}))
                .reason,
            Reason::kReturnInClause);
  EXPECT_EQ(rewrite_it(tiny({kReturn}), {0x01}, 60).reason, Reason::kTooLarge);
  EXPECT_EQ(rewrite_it(tiny({kReturn}), {0x77}).reason, Reason::kSignature);
}

// A step as the C# compiler writes it: state = this.state; try { … } catch { this.state = -2; … }
// this.state = -2; …
Code step() {
  return fat({kLdArg0, 0x7b,    1,    0,    0,    4, 0x0a,  // 0: ldfld, stloc.0
              kNop,    kLeaveS, 11,                         // 7: try
              kPop,    kLdArg0, 0x1f, 0xfe, 0x7d, 1, 0,    0, 4,      kLeaveS, 8,  // 10: catch
              kLdArg0, 0x1f,    0xfe, 0x7d, 1,    0, 0,    4, kReturn},            // 21
             {{.flags = kCatch,
               .try_offset = 7,
               .try_length = 3,
               .handler_offset = 10,
               .handler_length = 11,
               .token_or_filter = 0x0100'0001}});
}

TEST(IlStateMachine, IsKnownByItsStateAndItsEnds) {
  const auto bytes = step();
  Body body;
  StateMachine machine;
  ASSERT_EQ(parse_body(bytes.data(), static_cast<std::uint32_t>(bytes.size()), body),
            Reason::kNone);
  ASSERT_TRUE(find_state_machine(body, machine));
  EXPECT_EQ(machine.field, 0x0400'0001U);
  EXPECT_EQ(machine.local, 0U);
  EXPECT_EQ(machine.handler, 10U);
  ASSERT_EQ(machine.end_count, 2U);
  EXPECT_EQ(machine.ends[0], 11U);
  EXPECT_EQ(machine.ends[1], 21U);
  for (const auto& other : {nested(), tiny({kReturn}), fat({kLdArg0, 0x7b, 1, 0, 0, 4, kReturn})}) {
    ASSERT_EQ(parse_body(other.data(), static_cast<std::uint32_t>(other.size()), body),
              Reason::kNone);
    EXPECT_FALSE(find_state_machine(body, machine));
  }
}

TEST(IlStateMachine, GetsItsProbesAtBeginEndsAndHandler) {
  const auto bytes = step();
  Body body;
  StateMachine machine;
  ASSERT_EQ(parse_body(bytes.data(), static_cast<std::uint32_t>(bytes.size()), body),
            Reason::kNone);
  ASSERT_TRUE(find_state_machine(body, machine));
  MethodSignature signature;
  const Code sig{0x20, 0x00, 0x01};
  ASSERT_EQ(parse_method_signature(sig.data(), 3, signature), Reason::kNone);
  NewLocals locals;
  Code local_bytes(256), out(4096);
  ASSERT_EQ(extend_locals(nullptr, 0, signature, local_bytes.data(), 256, locals), Reason::kNone);
  std::vector<std::uint32_t> map(4096);
  Layout layout;
  ASSERT_EQ(rewrite(body, signature, locals,
                    {.id = 1,
                     .gate = 0x1000,
                     .enter = 0x2000,
                     .leave = 0x3000,
                     .enter_token = 0x1100'0001,
                     .leave_token = 0x1100'0002,
                     .locals_token = 0x1100'0003,
                     .machine = &machine,
                     .fault = 0x4000,
                     .fault_token = 0x1100'0004},
                    map.data(), 4096, out.data(), 4096, layout),
            Reason::kNone);
  Body made;
  ASSERT_EQ(parse_body(out.data(), layout.size, made), Reason::kNone);
  int enters = 0, leaves = 0, faults = 0;
  const auto effects = [&](std::uint16_t opcode, std::uint32_t token) {
    if (token == 0x1100'0001)
      return ++enters, effect_of(opcode, kEnterStepSignature, sizeof kEnterStepSignature);
    if (token == 0x1100'0002)
      return ++leaves, effect_of(opcode, kLeaveStepSignature, sizeof kLeaveStepSignature);
    EXPECT_EQ(token, 0x1100'0004U);
    return ++faults, effect_of(opcode, kFaultSignature, sizeof kFaultSignature);
  };
  EXPECT_EQ(verify_rewritten(made, layout, true, effects), "");
  EXPECT_EQ(compare(body, made, layout, true), "");
  EXPECT_EQ(enters, 1);
  EXPECT_EQ(leaves, 3);
  EXPECT_EQ(faults, 1);
}

TEST(IlSignature, ReadsReturnedTypesOfEveryKind) {
  const std::vector<Code> types{
      {0x1c},                                         // object
      {0x10, 0x08},                                   // ref int
      {0x20, 0x05, 0x10, 0x08},                       // modified
      {0x15, 0x12, 0x81, 0x01, 0x02, 0x0e, 0x1e, 0},  // generic instance
      {0x14, 0x08, 0x02, 0x01, 0x03, 0x00},           // int[3,]
      {0x1b, 0x00, 0x01, 0x01, 0x08},                 // function pointer
      {0x1d, 0x1d, 0x13, 0x00},                       // T[][]
      {0x16},                                         // typed reference
  };
  for (const auto& type : types) {
    Code sig{0x30, 0x01, 0x00};
    sig.insert(sig.end(), type.begin(), type.end());
    MethodSignature out;
    EXPECT_EQ(parse_method_signature(sig.data(), static_cast<std::uint32_t>(sig.size()), out),
              Reason::kNone);
    EXPECT_FALSE(out.is_void);
    EXPECT_EQ(out.type + out.type_size, sig.data() + sig.size());
    for (std::uint32_t size = 0; size < sig.size(); ++size)
      EXPECT_NE(parse_method_signature(sig.data(), size, out), Reason::kNone);
  }
  Code deep(200, 0x0f);  // a pointer to a pointer to …
  deep[0] = deep[1] = 0;
  deep.back() = 0x08;
  MethodSignature out;
  EXPECT_EQ(parse_method_signature(deep.data(), 200, out), Reason::kSignature);
}

TEST(IlSignature, PutsNewLocalsBehindTheOldOnes) {
  const Code old{0x07, 0x02, 0x08, 0x0e};
  MethodSignature signature;
  const Code sig{0x00, 0x00, 0x1c};
  ASSERT_EQ(parse_method_signature(sig.data(), 3, signature), Reason::kNone);
  Code out(32);
  NewLocals locals;
  ASSERT_EQ(extend_locals(old.data(), 4, signature, out.data(), 32, locals), Reason::kNone);
  out.resize(locals.size);
  EXPECT_EQ(out, (Code{0x07, 0x05, 0x08, 0x0e, 0x1c, 0x0a, 0x0a}));
  EXPECT_EQ(locals.result, 2U);
  EXPECT_EQ(locals.start, 3U);
  EXPECT_EQ(locals.saved, 4U);
  EXPECT_EQ(extend_locals(old.data(), 4, signature, out.data(), 8, locals), Reason::kTooLarge);
  const Code many{0x07, 0xc0, 0x01, 0x00, 0x00};
  Code room(64);
  EXPECT_EQ(extend_locals(many.data(), 5, signature, room.data(), 64, locals), Reason::kTooLarge);
}

TEST(IlBody, KnowsTrivialMethods) {
  const auto trivial = [](const Code& code) {
    Body body;
    const auto bytes = tiny(code);
    EXPECT_EQ(parse_body(bytes.data(), static_cast<std::uint32_t>(bytes.size()), body),
              Reason::kNone);
    return is_trivial(body);
  };
  EXPECT_TRUE(trivial({kLdArg0, 0x7b, 1, 0, 0, 4, kReturn}));
  EXPECT_TRUE(trivial({kReturn}));
  EXPECT_FALSE(trivial({0x28, 1, 0, 0, 6, kReturn}));
  EXPECT_FALSE(trivial({kLdNull, kThrowOp}));
}

// The verifier is only worth something if it sees what is wrong: every way to break a rewritten
// body that matters must be found.
struct Broken {
  const char* name;
  void (*damage)(Code& bytes, Layout& layout);
};
class IlVerifier : public ::testing::TestWithParam<Broken> {};

TEST_P(IlVerifier, FindsWhatIsWrong) {
  auto made = rewrite_it(nested());
  ASSERT_EQ(made.wrong, "");
  GetParam().damage(made.bytes, made.layout);
  Body body;
  ASSERT_EQ(parse_body(made.bytes.data(), static_cast<std::uint32_t>(made.bytes.size()), body),
            Reason::kNone);
  EXPECT_NE(verify_rewritten(body, made.layout, true, calls), "");
}

constexpr std::uint32_t kCode = 12;  // the code begins behind the header
std::uint32_t clauses_at(const Code& bytes) {
  return static_cast<std::uint32_t>(bytes.size()) - 72;
}

const Broken kBroken[] = {
    {"max stack too small", [](Code& b, Layout&) { b[2] = 3; }},
    {"the method returns by itself", [](Code& b, Layout& l) { b[kCode + l.handler - 5] = 0x2a; }},
    {"a branch out of the try instead of leave",
     [](Code& b, Layout& l) { b[kCode + l.handler - 5] = 0x38; }},
    {"a leave to the middle of the end", [](Code& b, Layout& l) { b[kCode + l.handler - 4] += 1; }},
    {"a leave past the code", [](Code& b, Layout& l) { b[kCode + l.handler - 3] = 1; }},
    {"a leave into the handler", [](Code& b, Layout& l) { b[kCode + l.handler - 4] = 0; }},
    {"the handler does not end", [](Code& b, Layout& l) { b[kCode + l.end - 1] = 0x00; }},
    {"the handler leaves a value", [](Code& b, Layout& l) { b[kCode + l.end - 6] = 0x21; }},
    {"the gate is not compared", [](Code& b, Layout&) { b[kCode + 17] = 0x00; }},
    {"the enter probe skips the start of the method", [](Code& b, Layout&) { b[kCode + 18] += 1; }},
    {"our clause is a catch", [](Code& b, Layout&) { b[clauses_at(b) + 48] = 0; }},
    {"our try begins late", [](Code& b, Layout&) { b[clauses_at(b) + 52] += 1; }},
    {"our try ends early", [](Code& b, Layout&) { b[clauses_at(b) + 56] -= 5; }},
    {"our handler ends early", [](Code& b, Layout&) { b[clauses_at(b) + 64] -= 1; }},
    {"an inner clause is moved", [](Code& b, Layout&) { b[clauses_at(b) + 4] += 1; }},
    {"an inner clause is too long", [](Code& b, Layout&) { b[clauses_at(b) + 32] = 200; }},
    {"the clauses are in the wrong order",
     [](Code& b, Layout&) {
       const auto at = clauses_at(b);
       std::swap_ranges(b.begin() + at + 24, b.begin() + at + 48, b.begin() + at + 48);
     }},
    {"the clause is missing", [](Code& b, Layout&) { b[clauses_at(b) - 3] = 52; }},
};
INSTANTIATE_TEST_SUITE_P(Mutations, IlVerifier, ::testing::ValuesIn(kBroken),
                         [](const auto& one) { return "Number" + std::to_string(one.index); });

TEST(IlRewrite, SurvivesRandomDamage) {
  std::mt19937 random{7};
  const std::vector<Code> originals{nested(), tiny({kLdcI4, 7, kPop, kReturn}),
                                    tiny({kBranch, 0, 0xfe, 0x14, 0x28, 1, 0, 0, 6, kReturn})};
  std::uint32_t rewritten = 0;
  for (int i = 0; i < 4'000; ++i) {
    auto bytes = originals[random() % originals.size()];
    for (unsigned j = 0; j <= random() % 4; ++j)
      bytes[random() % bytes.size()] = static_cast<std::uint8_t>(random());
    if (random() % 4 == 0) bytes.resize(random() % bytes.size());
    bytes.shrink_to_fit();
    Body before;
    const auto made = rewrite_it(bytes);
    if (made.reason != Reason::kNone) continue;
    ++rewritten;
    ASSERT_EQ(parse_body(bytes.data(), static_cast<std::uint32_t>(bytes.size()), before),
              Reason::kNone);
    ASSERT_EQ(compare(before, made.body, made.layout, true), "");
  }
  EXPECT_GT(rewritten, 200U);
}

}  // namespace
}  // namespace clrscope::il
