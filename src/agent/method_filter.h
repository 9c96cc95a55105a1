// Which methods a pattern means. Knows nothing of the runtime: tests drive it without one.
//
// Lines of '+' (include) or '-' (exclude) and a pattern: a full name with '*' for any text, or a
// whole namespace or type. A method is chosen when an include and no exclude matches.
#pragma once

#include <cstdint>

namespace clrscope::agent {

class MethodFilter {
 public:
  static constexpr std::uint32_t kMostPatterns = 128;

  constexpr MethodFilter() = default;

  // Keeps pointers into the text. False: no include, too many patterns, or a line without a sign.
  bool parse(const char* text, std::uint32_t size);
  // `name`: "Namespace.Outer+Inner.Method".
  bool chooses(const char* name, std::uint32_t size) const;
  // The same of a name as it is and as people write it; an exclude of either wins.
  bool chooses_step(const char* name, std::uint32_t size) const;

 private:
  enum class Verdict : std::uint8_t { kNone, kChosen, kExcluded };
  Verdict judge(const char* name, std::uint32_t size) const;

  struct Pattern {
    const char* text;
    std::uint32_t size;
    bool excludes;
  };
  Pattern patterns_[kMostPatterns]{};
  std::uint32_t count_ = 0;
};

// Methods that the runtime uses in ways of its own, so that they must stay as they are: exception
// handling, marshalling, casts, helpers of the JIT compiler.
bool is_runtime_helper(const char* name, std::uint32_t size);

// Of types that the compiler makes of async methods, iterators and lambdas: everything but the code
// that somebody wrote.
bool is_made_by_compiler(const char* name, std::uint32_t size);

// "Shop.Orders+<SaveAsync>d__3.MoveNext" is "Shop.Orders.SaveAsync" to people. Returns the size of
// what it wrote to `out`; 0: not such a name, or too long.
constexpr std::uint32_t kLongestStepName = 1024;
std::uint32_t step_name(const char* name, std::uint32_t size, char* out);

}  // namespace clrscope::agent
