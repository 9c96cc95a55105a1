// Checks a rewritten method body without a runtime: instructions, branches, the depth of the stack,
// exception clauses, and that every way out passes the leave probe once.
//
// For tests. Types are not followed; depths are. Takes bytes that may be wrong in every way.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "il/rewrite.h"

namespace clrscope::il {

struct StackEffect {
  std::uint32_t pops = 0;
  std::uint32_t pushes = 0;
};
// Of call, callvirt, newobj and calli with this token; none: unknown.
using CallEffect =
    std::function<std::optional<StackEffect>(std::uint16_t opcode, std::uint32_t token)>;

// What is wrong with a body; empty: nothing.
std::string verify(const Body& body, bool is_void, const CallEffect& calls);
// What is wrong with a body that rewrite() made, with that layout; verify() is part of it.
std::string verify_rewritten(const Body& body, const Layout& layout, bool is_void,
                             const CallEffect& calls);
// What differs between a body and the code inside the rewritten one, besides what must.
std::string compare(const Body& original, const Body& rewritten, const Layout& layout,
                    bool is_void);

// The effect of a method with this signature.
std::optional<StackEffect> effect_of(std::uint16_t opcode, const std::uint8_t* signature,
                                     std::uint32_t size);

}  // namespace clrscope::il
