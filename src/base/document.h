// A document for people, independent of width and colours: sentences, tables and blocks in order.
// Data only; answer/text.h makes the text.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "base/remedy.h"
#include "base/table.h"

namespace clrscope {

// A column is right-aligned when its title begins with '>'.
struct DocumentTable {
  std::string title{};  // a line above it, if any
  std::vector<std::string> columns;
  std::vector<std::vector<std::string>> rows{};
  std::string note{};  // a line below it, if any
  // The column that keeps its width until the others are as narrow as they may be; empty: none.
  std::string keeps{};
};

enum class Fit : std::uint8_t { kWrapped, kCut };
struct Paragraph {
  std::string text;
  std::size_t indent = 0;
  Fit fit = Fit::kWrapped;
};
// A line that begins something, and what is said at its right.
struct Heading {
  std::string text;
  Tone tone = Tone::kPlain;
  std::string aside{};
};
// "memory   yes   read by data contracts", and perhaps a hint below.
struct Fact {
  std::string name;
  std::string value;
  Tone tone = Tone::kPlain;
  std::string detail{};
  std::string hint{};
  std::vector<Remedy> remedies{};  // beside the hint
};
struct Facts {
  std::vector<Fact> rows;
};
struct FrameLine {
  std::string text;
  std::string place{};  // "Orders.cs:31"
};
struct FrameLines {
  std::vector<FrameLine> frames;
  std::size_t indent = 0;
};
// "Next: clrscope collect -p 4312; clrscope report FILE cpu"
struct NextSteps {
  std::string label;
  std::vector<Remedy> remedies;
  std::string note{};  // in brackets behind them
  std::size_t indent = 0;
};
struct Gap {};  // an empty line
using Block = std::variant<Paragraph, Heading, Facts, FrameLines, NextSteps, Gap>;

struct Document {
  std::vector<std::string> summary;  // sentences; the first says the most important
  std::vector<DocumentTable> tables{};
  std::vector<Block> blocks{};
  std::string next{};  // what to do next, if anything
};

}  // namespace clrscope
