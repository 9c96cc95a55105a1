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

 private:
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

}  // namespace clrscope::agent
