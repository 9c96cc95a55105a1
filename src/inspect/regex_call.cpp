#include "inspect/regex_call.h"

#include <algorithm>

namespace clrscope::inspect {
namespace {

constexpr std::string_view kNamespace = "System.Text.RegularExpressions.";
constexpr std::size_t kMostFrames = 64;
constexpr std::size_t kMostWords = 4096;
constexpr std::size_t kMostPattern = 200;  // characters
constexpr std::uint64_t kCharactersAt = 12;

// The pattern's beginning as UTF-8; what is not plain text is shown as '?'.
std::string text_of(Objects& objects, std::uint64_t string) {
  if (objects.type_name(string) != "System.String") return {};
  const auto length = std::min<std::size_t>(objects.length(string).value_or(0), kMostPattern);
  std::string text;
  for (std::size_t i = 0; i < length; ++i) {
    const auto unit = objects.memory().get<std::uint16_t>(string + kCharactersAt + 2 * i);
    if (!unit) break;
    text += *unit >= 0x20 && *unit < 0x7f ? static_cast<char>(*unit) : '?';
  }
  if (objects.length(string).value_or(0) > kMostPattern) text += "…";
  return text;
}

}  // namespace

std::optional<RegexCall> find_regex_call(const ThreadView& thread, const StackImage& stack,
                                         Objects& objects) {
  const auto& frames = thread.frames;
  std::size_t last = frames.size();  // the outermost frame of the innermost match
  for (std::size_t i = 0; i < std::min(frames.size(), kMostFrames); ++i) {
    const bool of_regex = frames[i].method.starts_with(kNamespace);
    if (of_regex) last = i;
    if (!of_regex && last != frames.size() && !frames[i].method.empty()) break;
  }
  if (last + 1 >= frames.size()) return std::nullopt;
  const unwind::StackCopy copy{stack.address, stack.bytes};
  const auto until = std::min(frames[last + 1].sp, stack.address + stack.bytes.size());
  std::size_t seen = 0;
  for (auto at = frames.front().sp; at + 8 <= until && seen < kMostWords; at += 8, ++seen) {
    std::uint64_t word = 0;
    if (!copy.read(at, word)) return std::nullopt;
    const auto* type = objects.type_of(word);
    if (!type || !type->field("runtext") || !type->field("runregex")) continue;
    RegexCall call{.text = objects.reference(word, "runtext")};
    call.pattern =
        text_of(objects, objects.reference(objects.reference(word, "runregex"), "pattern"));
    if (call.text == 0 || call.pattern.empty()) return std::nullopt;
    call.length = objects.length(call.text).value_or(0);
    return call;
  }
  return std::nullopt;
}

}  // namespace clrscope::inspect
