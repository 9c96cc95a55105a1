// Which methods a pattern means. Knows nothing of the runtime: tests drive it without one.
//
// Lines of '+' (include) or '-' (exclude) and a pattern: a full name with '*' for any text, a whole
// namespace or type, or "[NAME]" for what carries the attribute of that name. A method is chosen
// when an include and no exclude matches.
#pragma once

#include <cstdint>

namespace clrscope::agent {

class MethodFilter {
 public:
  static constexpr std::uint32_t kMostPatterns = 128;
  static constexpr std::uint32_t kMostAttributes = 64;  // of them
  using Marks = std::uint64_t;  // attribute patterns that match, one bit each

  constexpr MethodFilter() = default;

  // Keeps pointers into the text. False: no include, too many patterns, or a line without a sign.
  bool parse(const char* text, std::uint32_t size);
  bool has_attributes() const { return attributes_ > 0; }
  // Of an attribute by the full name of its type: "Shop.TimedAttribute".
  Marks marks_of(const char* attribute, std::uint32_t size) const;
  // `name`: "Namespace.Outer+Inner.Method"; `marks`: of all attributes of the method and its type.
  bool chooses(const char* name, std::uint32_t size, Marks marks = 0) const;
  // The same of a name as it is and as people write it; an exclude of either wins.
  bool chooses_step(const char* name, std::uint32_t size, Marks marks = 0) const;

 private:
  enum class Verdict : std::uint8_t { kNone, kChosen, kExcluded };
  Verdict judge(const char* name, std::uint32_t size, Marks marks) const;

  struct Pattern {
    const char* text;
    std::uint32_t size;
    bool excludes;
    Marks mark;  // of an attribute pattern; 0: a name
  };
  Pattern patterns_[kMostPatterns]{};
  std::uint32_t count_ = 0;
  std::uint32_t attributes_ = 0;
};

// Methods that the runtime uses in ways of its own, so that they must stay as they are: exception
// handling, marshalling, casts, helpers of the JIT compiler.
bool is_runtime_helper(const char* name, std::uint32_t size);

// Of types that the compiler makes of async methods, iterators and lambdas: everything but the code
// that somebody wrote.
bool is_made_by_compiler(const char* name, std::uint32_t size);

// Whether a type of this name is one of these.
bool is_compiler_type(const char* name, std::uint32_t size);

// "Shop.Orders+<SaveAsync>d__3.MoveNext" is "Shop.Orders.SaveAsync" to people. Returns the size of
// what it wrote to `out`; 0: not such a name, or too long.
constexpr std::uint32_t kLongestStepName = 1024;
std::uint32_t step_name(const char* name, std::uint32_t size, char* out);

}  // namespace clrscope::agent
