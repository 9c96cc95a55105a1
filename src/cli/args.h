// The words of the command line, matched against a verb's options. Accepts --name value,
// --name=value, --name:value, -n value.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "cli/verb.h"

namespace clrscope::cli {

class Args {
 public:
  // An unknown option or a missing value is an error that names the nearest one that exists.
  static Result<Args> parse(const Verb& verb, std::span<const std::string_view> words);

  bool has(std::string_view option) const { return values_.contains(option); }
  std::optional<std::string> text(std::string_view option) const;  // the last one given
  std::vector<std::string> all(std::string_view option) const;     // every one given
  Result<std::optional<std::chrono::nanoseconds>> duration(std::string_view option) const;
  Result<std::optional<std::uint64_t>> size(std::string_view option) const;
  Result<std::optional<std::uint64_t>> number(std::string_view option, std::uint64_t least,
                                              std::uint64_t most) const;
  Result<bool> truth(std::string_view option, bool otherwise) const;  // --rundown false

  const std::vector<std::string>& positionals() const { return positionals_; }
  const std::vector<std::string>& command() const { return command_; }  // what follows --

 private:
  std::map<std::string_view, std::vector<std::string>>
      values_;  // keys live in the verb's descriptor
  std::vector<std::string> positionals_;
  std::vector<std::string> command_;
};

std::string help_text(const Verb& verb);
std::string help_text();

}  // namespace clrscope::cli
