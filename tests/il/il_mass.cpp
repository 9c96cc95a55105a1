// Puts probes into every method of every assembly in some folders and verifies what comes out.
//
//   il_mass [--mutate N] FOLDER…     one line of JSON; exit code 1 when anything was wrong
//
// --mutate also rewrites each body N times with random damage: it must be refused, or come out as
// code that decodes.
#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <random>
#include <vector>

#include "il/verify.h"
#include "symbols/metadata.h"

namespace {

using namespace clrscope;

constexpr std::uint32_t kEnterToken = 0x11ff'fff0, kLeaveToken = 0x11ff'fff1;
constexpr std::uint32_t kEnterStep = 0x11ff'fff3, kLeaveStep = 0x11ff'fff4, kFault = 0x11ff'fff5;
constexpr std::uint32_t kMostCode = 1 << 20;

struct Totals {
  std::uint64_t assemblies = 0, methods = 0, rewritten = 0, wrong = 0;
  std::uint64_t with_clauses = 0, with_filter = 0, mutated = 0, mutated_rewritten = 0;
  std::uint64_t grown = 0, code = 0;
  std::uint64_t steps = 0, state_machines = 0;  // MoveNext without a value, and those understood
  std::map<std::string, std::uint64_t> refused;
};

class Assembly {
 public:
  Assembly(const PeFile& image, Metadata metadata, Totals& totals, unsigned mutations)
      : image_(image), metadata_(std::move(metadata)), totals_(totals), mutations_(mutations) {}

  void run(const std::string& name) {
    ++totals_.assemblies;
    for (std::uint32_t row = 1; row <= metadata_.rows(Metadata::kMethodDef); ++row) {
      const auto token = 0x0600'0000 + row;
      const auto address = metadata_.il_address(token);
      if (address == 0) continue;
      ++totals_.methods;
      const auto wrong = rewrite(token, image_.bytes_at(address));
      if (wrong.empty()) continue;
      ++totals_.wrong;
      fmt::print(stderr, "{}: {} {:08x}: {}\n", name, metadata_.method_name(token), token, wrong);
    }
  }

 private:
  std::optional<il::StackEffect> effect(std::uint16_t opcode, std::uint32_t token) {
    if (token == kEnterToken)
      return il::effect_of(opcode, il::kEnterSignature, sizeof il::kEnterSignature);
    if (token == kLeaveToken)
      return il::effect_of(opcode, il::kLeaveSignature, sizeof il::kLeaveSignature);
    if (token == kEnterStep)
      return il::effect_of(opcode, il::kEnterStepSignature, sizeof il::kEnterStepSignature);
    if (token == kLeaveStep)
      return il::effect_of(opcode, il::kLeaveStepSignature, sizeof il::kLeaveStepSignature);
    if (token == kFault)
      return il::effect_of(opcode, il::kFaultSignature, sizeof il::kFaultSignature);
    if (token >> 24 == Metadata::kMethodSpec) token = metadata_.generic_method(token);
    const auto bytes = token >> 24 == Metadata::kStandAloneSig
                           ? metadata_.stand_alone_signature(token)
                           : metadata_.method_signature(token);
    return il::effect_of(opcode, bytes.data(), static_cast<std::uint32_t>(bytes.size()));
  }

  std::string rewrite(std::uint32_t token, Bytes bytes) {
    il::Body body;
    const auto size = static_cast<std::uint32_t>(bytes.size());
    auto reason = il::parse_body(bytes.data(), size, body);
    const auto signature_bytes = metadata_.method_signature(token);
    il::MethodSignature signature;
    if (reason == il::Reason::kNone)
      reason = il::parse_method_signature(
          signature_bytes.data(), static_cast<std::uint32_t>(signature_bytes.size()), signature);
    if (reason != il::Reason::kNone) return refuse(reason);
    const auto old = metadata_.stand_alone_signature(body.locals);
    if (body.locals != 0 && old.empty()) return "its local signature is not there";
    il::NewLocals locals;
    locals_.resize(old.size() + signature_bytes.size() + 16);
    reason = il::extend_locals(old.data(), static_cast<std::uint32_t>(old.size()), signature,
                               locals_.data(), static_cast<std::uint32_t>(locals_.size()), locals);
    if (reason != il::Reason::kNone) return refuse(reason);
    const auto calls = [&](std::uint16_t opcode, std::uint32_t called) {
      return effect(opcode, called);
    };
    if (auto wrong = il::verify(body, signature.is_void, calls); !wrong.empty())
      return "the original is not as the verifier expects: " + wrong;
    il::Layout layout;
    // With a probe of its own for exceptions, and without.
    for (const std::uint64_t leave_fault : {0x7fff'0000'4000UL, 0UL}) {
      reason = put(body, signature, locals, layout, leave_fault);
      if (reason != il::Reason::kNone) return refuse(reason);
      il::Body made;
      if (il::parse_body(out_.data(), layout.size, made) != il::Reason::kNone ||
          made.size != layout.size)
        return "the new body cannot be parsed";
      if (auto wrong = il::verify_rewritten(made, layout, signature.is_void, calls); !wrong.empty())
        return wrong;
      if (auto wrong = il::compare(body, made, layout, signature.is_void); !wrong.empty())
        return wrong;
    }
    if (signature.is_void && signature.parameters == 0 &&
        metadata_.method_name(token).ends_with("MoveNext")) {
      if (auto wrong = rewrite_step(body, signature, locals, calls); !wrong.empty())
        return "as a step: " + wrong;
    }
    ++totals_.rewritten;
    totals_.code += body.size;
    totals_.grown += layout.size;
    if (body.clause_count > 0) ++totals_.with_clauses;
    for (std::uint32_t i = 0; i < body.clause_count; ++i)
      if (il::clause_at(body, i).flags == il::kFilter) {
        ++totals_.with_filter;
        break;
      }
    for (unsigned i = 0; i < mutations_; ++i)
      if (auto wrong = mutate(bytes.first(body.size), signature, locals); !wrong.empty())
        return wrong;
    return "";
  }

  // As a step of a state machine, if it is one.
  std::string rewrite_step(const il::Body& body, const il::MethodSignature& signature,
                           const il::NewLocals& locals, const il::CallEffect& calls) {
    ++totals_.steps;
    il::StateMachine machine;
    if (!il::find_state_machine(body, machine)) return "";
    ++totals_.state_machines;
    il::Layout layout;
    const auto reason = il::rewrite(body, signature, locals,
                                    {.id = 77,
                                     .gate = 0x7fff'0000'1000,
                                     .enter = 0x7fff'0000'2000,
                                     .leave = 0x7fff'0000'3000,
                                     .enter_token = kEnterStep,
                                     .leave_token = kLeaveStep,
                                     .locals_token = 0x11ff'fff2,
                                     .machine = &machine,
                                     .fault = 0x7fff'0000'4000,
                                     .fault_token = kFault},
                                    map_.data(), static_cast<std::uint32_t>(map_.size()),
                                    out_.data(), static_cast<std::uint32_t>(out_.size()), layout);
    if (reason != il::Reason::kNone) return il::name_of(reason);
    il::Body made;
    if (il::parse_body(out_.data(), layout.size, made) != il::Reason::kNone ||
        made.size != layout.size)
      return "the new body cannot be parsed";
    if (auto wrong = il::verify_rewritten(made, layout, true, calls); !wrong.empty()) return wrong;
    return il::compare(body, made, layout, true);
  }

  il::Reason put(const il::Body& body, const il::MethodSignature& signature,
                 const il::NewLocals& locals, il::Layout& layout, std::uint64_t leave_fault = 0) {
    map_.resize(kMostCode);
    out_.resize(kMostCode * 4);
    return il::rewrite(body, signature, locals,
                       {.id = 77,
                        .gate = 0x7fff'0000'1000,
                        .enter = 0x7fff'0000'2000,
                        .leave = 0x7fff'0000'3000,
                        .enter_token = kEnterToken,
                        .leave_token = kLeaveToken,
                        .locals_token = 0x11ff'fff2,
                        .leave_fault = leave_fault},
                       map_.data(), static_cast<std::uint32_t>(map_.size()), out_.data(),
                       static_cast<std::uint32_t>(out_.size()), layout);
  }

  std::string mutate(Bytes bytes, const il::MethodSignature& signature,
                     const il::NewLocals& locals) {
    std::vector<std::uint8_t> damaged{bytes.begin(), bytes.end()};
    for (unsigned i = 0; i <= random_() % 3; ++i)
      damaged[random_() % damaged.size()] = static_cast<std::uint8_t>(random_());
    ++totals_.mutated;
    il::Body body;
    if (il::parse_body(damaged.data(), static_cast<std::uint32_t>(damaged.size()), body) !=
        il::Reason::kNone)
      return "";
    il::Layout layout;
    if (put(body, signature, locals, layout) != il::Reason::kNone) return "";
    ++totals_.mutated_rewritten;
    il::Body made;
    if (il::parse_body(out_.data(), layout.size, made) != il::Reason::kNone)
      return "a damaged body became one that cannot be parsed";
    const auto wrong = il::compare(body, made, layout, signature.is_void);
    return wrong.empty() ? "" : "a damaged body became another one: " + wrong;
  }

  std::string refuse(il::Reason reason) {
    ++totals_.refused[il::name_of(reason)];
    return "";
  }

  const PeFile& image_;
  Metadata metadata_;
  Totals& totals_;
  unsigned mutations_;
  std::mt19937 random_{1};
  std::vector<std::uint8_t> locals_;
  std::vector<std::uint32_t> map_;
  std::vector<std::uint8_t> out_;
};

void run_file(const std::filesystem::path& path, Totals& totals, unsigned mutations) {
  std::ifstream in{path, std::ios::binary};
  const std::vector<char> bytes{std::istreambuf_iterator<char>{in}, {}};
  const Bytes view{reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()};
  const auto image = PeFile::parse_any(view);
  if (!image || image->clr_header().size == 0) return;
  auto metadata = metadata_of(*image);
  if (!metadata) return;
  Assembly{*image, *std::move(metadata), totals, mutations}.run(path.filename().string());
}

}  // namespace

int main(int argc, char** argv) {
  Totals totals;
  unsigned mutations = 0;
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--mutate") == 0 && i + 1 < argc) {
      mutations = static_cast<unsigned>(std::atoi(argv[++i]));
      continue;
    }
    std::error_code error;
    for (const auto& entry : std::filesystem::directory_iterator{argv[i], error})
      if (entry.path().extension() == ".dll") run_file(entry.path(), totals, mutations);
  }
  std::string refused;
  for (const auto& [reason, count] : totals.refused)
    refused += fmt::format("{}\"{}\":{}", refused.empty() ? "" : ",", reason, count);
  fmt::print(
      "{{\"assemblies\":{},\"methods\":{},\"rewritten\":{},\"withClauses\":{},\"withFilter\":{},"
      "\"wrong\":{},\"codeBytes\":{},\"newBytes\":{},\"mutated\":{},\"mutatedRewritten\":{},"
      "\"steps\":{},\"stateMachines\":{},\"refused\":{{{}}}}}\n",
      totals.assemblies, totals.methods, totals.rewritten, totals.with_clauses, totals.with_filter,
      totals.wrong, totals.code, totals.grown, totals.mutated, totals.mutated_rewritten,
      totals.steps, totals.state_machines, refused);
  return totals.wrong == 0 ? 0 : 1;
}
