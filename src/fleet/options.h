// The command line of clrscope-fleet: --name value pairs after the command. Not cli/: that room is
// not part of this executable.
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"

namespace clrscope::fleet {

struct OptionText {
  std::string_view name;   // "--listen"
  std::string_view value;  // empty: a switch
  std::string_view help;
};

class CommandOptions {
 public:
  // An option that is not in `known`, or lacks its value, is an error.
  static Result<CommandOptions> parse(std::span<const OptionText> known,
                                      std::span<const std::string_view> words);

  bool has(std::string_view name) const { return values_.contains(name); }
  std::string text(std::string_view name, std::string_view otherwise = {}) const;
  Result<std::chrono::nanoseconds> duration(std::string_view name,
                                            std::chrono::nanoseconds otherwise) const;
  Result<std::uint64_t> size(std::string_view name, std::uint64_t otherwise) const;

 private:
  std::map<std::string_view, std::string> values_;
};

std::string help_text(std::string_view usage, std::span<const OptionText> options,
                      std::string_view examples);

}  // namespace clrscope::fleet
