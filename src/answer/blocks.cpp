#include "answer/blocks.h"

#include <algorithm>

#include "base/printable.h"
#include "base/table.h"

namespace clrscope::answer {
namespace {

constexpr std::size_t kLeastWidth = 40;
constexpr std::size_t kEndless = 1U << 30U;
constexpr std::size_t kGap = 2;
// Of facts.
constexpr std::size_t kMargin = 2;
constexpr std::size_t kNames = 22;
constexpr std::size_t kValues = 8;

std::size_t less(std::size_t from, std::size_t what) { return from - std::min(from, what); }

// What is wrapped begins at `column` of a line that has words already.
std::string wrapped_at(std::string_view text, std::size_t width, std::size_t column) {
  return wrapped(text, width, column).substr(column);
}

class Writer {
 public:
  explicit Writer(const TextStyle& style) : style_(style), width_(line_width(style)) {}

  void operator()(const Paragraph& block) {
    const auto text = printable(block.text);
    out_ += block.fit == Fit::kWrapped ? wrapped(text, width_, block.indent)
                                       : std::string(block.indent, ' ') +
                                             cut_to_width(text, less(width_, block.indent)) + '\n';
  }

  void operator()(const Heading& block) {
    const auto aside = printable(block.aside);
    const auto taken = aside.empty() ? 0 : display_width(aside) + 2 * kGap;
    auto lines = wrapped(printable(block.text), less(width_, taken));
    lines.pop_back();
    for (auto at = lines.find('\n'); at != std::string::npos; at = lines.find('\n', at + 1))
      lines.insert(at + 1, std::string(kGap, ' '));
    const auto last = lines.substr(lines.rfind('\n') + 1);  // npos + 1 is 0
    out_ += painted(block.tone, lines);
    if (!aside.empty()) {
      const auto room = less(width_, display_width(last) + display_width(aside));
      const bool endless = width_ == kEndless;
      out_ += std::string(endless ? kGap : std::max(room, kGap), ' ') + painted(Tone::kDim, aside);
    }
    out_ += '\n';
  }

  void operator()(const Facts& block) {
    for (const auto& row : block.rows) {
      const auto name = printable(row.name);
      const auto value = printable(row.value);
      constexpr auto kDetails = kMargin + kNames + kValues;
      out_ += std::string(kMargin, ' ') + padded(name, name, kNames);
      out_ += row.detail.empty() ? painted(row.tone, value) + '\n'
                                 : padded(painted(row.tone, value), value, kValues) +
                                       wrapped_at(printable(row.detail), width_, kDetails);
      auto words = row.hint;
      if (!row.remedies.empty()) words += (words.empty() ? "" : "; ") + spelled(row.remedies);
      if (words.empty()) continue;
      auto hint = wrapped("hint: " + printable(words), width_, kDetails);
      hint.pop_back();
      out_ += painted(Tone::kDim, hint) + '\n';
    }
  }

  void operator()(const FrameLines& block) {
    for (const auto& frame : block.frames) {
      const auto place = frame.place.empty() ? "" : std::string(kGap, ' ') + printable(frame.place);
      const auto room = less(width_, block.indent + display_width(place));
      out_ +=
          std::string(block.indent, ' ') + shorten_name(printable(frame.text), room) + place + '\n';
    }
  }

  void operator()(const NextSteps& block) {
    auto text = block.label + ": " + spelled(block.remedies);
    if (!block.note.empty()) text += block.remedies.empty() ? block.note : " (" + block.note + ")";
    out_ += wrapped(printable(text), width_, block.indent);
  }

  void operator()(const Gap&) { out_ += '\n'; }

  std::string take() && { return std::move(out_); }

 private:
  std::string spelled(const std::vector<Remedy>& remedies) const {
    std::string out;
    for (const auto& one : remedies)
      out += (out.empty() ? "" : "; ") + (style_.spell ? style_.spell(one) : plain_words(one));
    return out;
  }
  std::string painted(Tone tone, std::string_view text) const {
    return style_.paint ? style_.paint(tone, text) : std::string{text};
  }
  static std::string padded(std::string shown, std::string_view plain, std::size_t width) {
    return std::move(shown) +
           std::string(std::max<std::size_t>(less(width, display_width(plain)), 1), ' ');
  }

  const TextStyle& style_;
  std::size_t width_;
  std::string out_;
};

}  // namespace

std::size_t line_width(const TextStyle& style) {
  return style.width == kWholeLines ? kEndless : std::clamp(style.width, kLeastWidth, kPageWidth);
}

std::string blocks_text(const std::vector<Block>& blocks, const TextStyle& style) {
  Writer writer{style};
  for (const auto& block : blocks) std::visit(writer, block);
  return std::move(writer).take();
}

}  // namespace clrscope::answer
