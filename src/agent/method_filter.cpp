#include "agent/method_filter.h"

namespace clrscope::agent {
namespace {

// '*' stands for any text. Goes back to the last star only, so the time is bounded by the product
// of the sizes.
bool matches_glob(const char* pattern, std::uint32_t pattern_size, const char* name,
                  std::uint32_t size) {
  std::uint32_t at = 0, in = 0, star = pattern_size, after_star = 0;
  while (in < size) {
    if (at < pattern_size && pattern[at] == '*') {
      star = at++;
      after_star = in;
    } else if (at < pattern_size && pattern[at] == name[in]) {
      ++at;
      ++in;
    } else if (star < pattern_size) {
      at = star + 1;
      in = ++after_star;
    } else {
      return false;
    }
  }
  while (at < pattern_size && pattern[at] == '*') ++at;
  return at == pattern_size;
}

bool starts_with(const char* name, std::uint32_t size, const char* begin, std::uint32_t count) {
  if (count > size) return false;
  for (std::uint32_t i = 0; i < count; ++i)
    if (name[i] != begin[i]) return false;
  return true;
}

bool matches(const char* pattern, std::uint32_t pattern_size, const char* name,
             std::uint32_t size) {
  if (matches_glob(pattern, pattern_size, name, size)) return true;
  // A namespace or type without a star: everything in it.
  return starts_with(name, size, pattern, pattern_size) && size > pattern_size &&
         (name[pattern_size] == '.' || name[pattern_size] == '+');
}

std::uint32_t length_of(const char* text) {
  std::uint32_t size = 0;
  while (text[size] != 0) ++size;
  return size;
}

}  // namespace

bool MethodFilter::parse(const char* text, std::uint32_t size) {
  count_ = 0;
  bool includes = false;
  for (std::uint32_t at = 0; at < size;) {
    auto end = at;
    while (end < size && text[end] != '\n') ++end;
    if (end > at) {
      const bool excludes = text[at] == '-';
      if ((!excludes && text[at] != '+') || end - at < 2 || count_ == kMostPatterns) return false;
      patterns_[count_++] = {text + at + 1, end - at - 1, excludes};
      includes = includes || !excludes;
    }
    at = end + 1;
  }
  return includes;
}

bool MethodFilter::chooses(const char* name, std::uint32_t size) const {
  bool chosen = false;
  for (std::uint32_t i = 0; i < count_; ++i) {
    const auto& pattern = patterns_[i];
    if (!matches(pattern.text, pattern.size, name, size)) continue;
    if (pattern.excludes) return false;
    chosen = true;
  }
  return chosen;
}

bool is_runtime_helper(const char* name, std::uint32_t size) {
  static constexpr const char* kHelpers[] = {
      "System.StubHelpers.*",
      "Internal.Runtime.*",
      "System.Runtime.EH*",
      "System.Runtime.ExInfo*",
      "System.Runtime.StackFrameIterator*",
      "System.Runtime.REGDISPLAY*",
      "System.Runtime.CompilerServices.*Helpers.*",
      "System.Runtime.CompilerServices.Unsafe.*",
      "System.Runtime.CompilerServices.MethodTable*",
      "System.Runtime.CompilerServices.TypeHandle*",
      "System.Runtime.ControlledExecution*",
  };
  for (const auto* helper : kHelpers)
    if (matches_glob(helper, length_of(helper), name, size)) return true;
  return false;
}

}  // namespace clrscope::agent
