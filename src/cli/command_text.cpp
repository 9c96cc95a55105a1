#include "cli/command_text.h"

#include <algorithm>

namespace clrscope::cli {
namespace {

// As a shell takes it for one word.
std::string quoted(const std::string& word) {
  const auto plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view{"/._-,:=%+@"}.find(c) != std::string_view::npos;
  };
  if (!word.empty() && std::ranges::all_of(word, plain)) return word;
  std::string out = "'";
  for (const char c : word) out += c == '\'' ? std::string{"'\\''"} : std::string{c};
  return out + "'";
}

}  // namespace

std::string command_text(const Remedy& remedy) {
  auto out = "clrscope " + remedy.verb;
  if (const auto report = remedy.options.find("report"); report != remedy.options.end())
    out += " FILE " + quoted(report->second);
  if (const auto pid = remedy.options.find("pid"); pid != remedy.options.end())
    out += " -p " + (pid->second.empty() ? "PID" : pid->second);
  for (const auto& [name, value] : remedy.options) {
    if (name == "report" || name == "pid") continue;
    out += " --" + name;
    if (!value.empty()) out += ' ' + quoted(value);
  }
  return out;
}

}  // namespace clrscope::cli
