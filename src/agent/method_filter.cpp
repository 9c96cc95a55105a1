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

bool ends_with(const char* name, std::uint32_t size, const char* end) {
  const auto count = length_of(end);
  return count <= size && starts_with(name + (size - count), count, end, count);
}

// The full name, or the end of it behind a dot or plus: "Route" is Shop.Route too.
bool matches_end(const char* pattern, std::uint32_t pattern_size, const char* name,
                 std::uint32_t size) {
  for (std::uint32_t at = 0; at < size; ++at)
    if ((at == 0 || name[at - 1] == '.' || name[at - 1] == '+') &&
        matches_glob(pattern, pattern_size, name + at, size - at))
      return true;
  return false;
}

// With "Attribute" at the end of the name or, as in source code, without.
bool matches_attribute(const char* pattern, std::uint32_t pattern_size, const char* name,
                       std::uint32_t size) {
  constexpr char kEnd[] = "Attribute";
  constexpr std::uint32_t kEndSize = sizeof kEnd - 1;
  return matches_end(pattern, pattern_size, name, size) ||
         (ends_with(name, size, kEnd) && matches_end(pattern, pattern_size, name, size - kEndSize));
}

}  // namespace

bool MethodFilter::parse(const char* text, std::uint32_t size) {
  count_ = 0;
  attributes_ = 0;
  bool includes = false;
  for (std::uint32_t at = 0; at < size;) {
    auto end = at;
    while (end < size && text[end] != '\n') ++end;
    if (end > at) {
      const bool excludes = text[at] == '-';
      if ((!excludes && text[at] != '+') || end - at < 2 || count_ == kMostPatterns) return false;
      auto& pattern = patterns_[count_++];
      pattern = {text + at + 1, end - at - 1, excludes, 0};
      if (pattern.text[0] == '[') {
        if (pattern.size < 3 || text[end - 1] != ']' || attributes_ == kMostAttributes)
          return false;
        pattern = {pattern.text + 1, pattern.size - 2, excludes, Marks{1} << attributes_++};
      }
      includes = includes || !excludes;
    }
    at = end + 1;
  }
  return includes;
}

MethodFilter::Marks MethodFilter::marks_of(const char* attribute, std::uint32_t size) const {
  Marks marks = 0;
  for (std::uint32_t i = 0; i < count_; ++i)
    if (const auto& pattern = patterns_[i];
        pattern.mark != 0 && matches_attribute(pattern.text, pattern.size, attribute, size))
      marks |= pattern.mark;
  return marks;
}

MethodFilter::Verdict MethodFilter::judge(const char* name, std::uint32_t size, Marks marks) const {
  auto verdict = Verdict::kNone;
  for (std::uint32_t i = 0; i < count_; ++i) {
    const auto& pattern = patterns_[i];
    if (pattern.mark != 0 ? (pattern.mark & marks) == 0
                          : !matches(pattern.text, pattern.size, name, size))
      continue;
    if (pattern.excludes) return Verdict::kExcluded;
    verdict = Verdict::kChosen;
  }
  return verdict;
}

bool MethodFilter::chooses(const char* name, std::uint32_t size, Marks marks) const {
  return judge(name, size, marks) == Verdict::kChosen;
}

bool MethodFilter::chooses_step(const char* name, std::uint32_t size, Marks marks) const {
  char written[kLongestStepName];
  const auto written_size = step_name(name, size, written);
  const auto own = judge(name, size, marks);
  const auto other = written_size > 0 ? judge(written, written_size, marks) : Verdict::kNone;
  if (own == Verdict::kExcluded || other == Verdict::kExcluded) return false;
  return own == Verdict::kChosen || other == Verdict::kChosen;
}

bool is_runtime_helper(const char* name, std::uint32_t size) {
  // What compiled code calls without saying so must keep its code: .NET 9 ends with a fault when it
  // compiles a caller while such a method is about to be compiled again (dotnet/runtime#112636).
  static constexpr const char* kHelpers[] = {
      "System.Array.Ctor*",
      "System.Buffer.*",
      "System.Diagnostics.Debugger.*",
      "System.Math.ConvertTo*",
      "System.Math.Div*",
      "System.Math.Mod*",
      "System.Math.Multiply*",
      "System.RuntimeFieldHandle.*",
      "System.RuntimeTypeHandle.*",
      "System.SpanHelpers.ClearWith*",
      "System.SpanHelpers.Fill*",
      "System.SpanHelpers.Memmove*",
      "System.Threading.Interlocked.*",
      "System.Threading.Monitor.*",
      "System.Threading.Thread.PollGC*",
      "System.Threading.Volatile.*",
      "System.TypedReference.*",
      "System.StubHelpers.*",
      "Internal.Runtime.*",
      "System.Runtime.EH*",
      "System.Runtime.ExInfo*",
      "System.Runtime.StackFrameIterator*",
      "System.Runtime.REGDISPLAY*",
      "System.Runtime.CompilerServices.*Helpers.*",
      "System.Runtime.CompilerServices.CastCache*",
      "System.Runtime.CompilerServices.GenericCache*",
      "System.Runtime.CompilerServices.Unsafe.*",
      "System.Runtime.CompilerServices.MethodTable*",
      "System.Runtime.CompilerServices.TypeHandle*",
      "System.Runtime.ControlledExecution*",
  };
  for (const auto* helper : kHelpers)
    if (matches_glob(helper, length_of(helper), name, size)) return true;
  return false;
}

namespace {

// Where the innermost type that the compiler named begins, at its '<'; `size`: there is none.
std::uint32_t compiler_type(const char* name, std::uint32_t size) {
  for (std::uint32_t at = size; at-- > 1;)
    if (name[at] == '<' && name[at - 1] == '+') return at;
  return size;
}

// The '>' that closes the '<' at this place; `size`: none.
std::uint32_t closing(const char* name, std::uint32_t size, std::uint32_t open) {
  std::uint32_t depth = 0;
  for (auto at = open; at < size; ++at) {
    if (name[at] == '<') ++depth;
    if (name[at] == '>' && --depth == 0) return at;
  }
  return size;
}

// Whether the type at this place is a state machine: "<Save>d__3", "<<Main>b__0>d".
bool is_state_machine(const char* name, std::uint32_t size, std::uint32_t open) {
  const auto close = closing(name, size, open);
  return close + 2 < size && close > open + 1 && name[close + 1] == 'd' &&
         (name[close + 2] == '_' || name[close + 2] == '.' || name[close + 2] == '`');
}

}  // namespace

bool is_compiler_type(const char* name, std::uint32_t size) {
  return compiler_type(name, size) != size;
}

bool is_made_by_compiler(const char* name, std::uint32_t size) {
  const auto open = compiler_type(name, size);
  if (open == size) return false;
  if (is_state_machine(name, size, open)) return !ends_with(name, size, ".MoveNext");
  return ends_with(name, size, "..ctor") || ends_with(name, size, "..cctor");
}

std::uint32_t step_name(const char* name, std::uint32_t size, char* out) {
  const auto open = compiler_type(name, size);
  if (open == size || size > kLongestStepName || !is_state_machine(name, size, open) ||
      !ends_with(name, size, ".MoveNext"))
    return 0;
  const auto close = closing(name, size, open);
  std::uint32_t written = 0;
  for (std::uint32_t i = 0; i < open - 1; ++i) out[written++] = name[i];
  out[written++] = '.';
  for (auto i = open + 1; i < close; ++i) out[written++] = name[i];
  return written;
}

}  // namespace clrscope::agent
