#include "cli/args.h"

#include <fmt/format.h>

#include "base/text.h"

namespace clrscope::cli {
namespace {

const Option* find_option(const Verb& verb, std::string_view word) {
  for (const auto& group : verb.options)
    for (const auto& option : group) {
      if (word == option.name || (!option.alias.empty() && word == option.alias)) return &option;
      if (option.letter && word.size() == 2 && word[0] == '-' && word[1] == option.letter)
        return &option;
    }
  return nullptr;
}

Failure unknown_option(const Verb& verb, std::string_view word) {
  std::vector<std::string_view> known;
  for (const auto& group : verb.options)
    for (const auto& option : group) known.push_back(option.name);
  auto failure = fail(Errc::kUsage, "'{}' is not an option of clrscope {}", word, verb.name);
  if (const auto meant = nearest(word, known))
    return std::move(failure).hint("did you mean {}?", *meant);
  return std::move(failure).hint("run clrscope {} --help to list the options", verb.name);
}

// "--name=value" and "--name:value" into their parts.
std::pair<std::string_view, std::optional<std::string_view>> split_word(std::string_view word) {
  const auto at = word.starts_with("--") ? word.find_first_of("=:") : std::string_view::npos;
  if (at == std::string_view::npos) return {word, std::nullopt};
  return {word.substr(0, at), word.substr(at + 1)};
}

std::string option_line(const Option& option) {
  const auto letter = option.letter ? fmt::format("-{}, ", option.letter) : std::string{"    "};
  const auto left =
      fmt::format("  {}{}{}{}", letter, option.name, option.value.empty() ? "" : " ", option.value);
  if (left.size() > 34) return fmt::format("{}\n{:36}{}\n", left, "", option.help);
  return fmt::format("{:36}{}\n", left, option.help);
}

}  // namespace

Result<Args> Args::parse(const Verb& verb, std::span<const std::string_view> words) {
  Args args;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const auto word = words[i];
    if (word == "--" && verb.takes_command) {
      args.command_.assign(words.begin() + static_cast<std::ptrdiff_t>(i) + 1, words.end());
      if (args.command_.empty())
        return fail(Errc::kUsage, "no command after --")
            .hint("run clrscope {} -- COMMAND ARGS…", verb.name);
      break;
    }
    if (!word.starts_with('-') || word == "-") {
      if (args.positionals_.size() == verb.positionals)
        return fail(Errc::kUsage, "unexpected argument '{}' for clrscope {}", word, verb.name)
            .hint("usage: clrscope {} {}", verb.name, verb.usage);
      args.positionals_.emplace_back(word);
      continue;
    }
    const auto [name, inline_value] = split_word(word);
    const auto* option = find_option(verb, name);
    if (!option) return unknown_option(verb, name);
    auto& values = args.values_[option->name];
    if (option->value.empty()) {
      if (inline_value && *inline_value != "true")
        return fail(Errc::kUsage, "{} does not take a value", option->name);
      values.emplace_back();
    } else if (inline_value) {
      values.emplace_back(*inline_value);
    } else if (i + 1 < words.size() && words[i + 1] != "--" &&
               !find_option(verb, split_word(words[i + 1]).first)) {
      values.emplace_back(words[++i]);
    } else {
      return fail(Errc::kUsage, "{} needs a value: {}", option->name, option->value)
          .hint("{}", option->help);
    }
  }
  return args;
}

std::optional<std::string> Args::text(std::string_view option) const {
  const auto found = values_.find(option);
  if (found == values_.end()) return std::nullopt;
  return found->second.back();
}

std::vector<std::string> Args::all(std::string_view option) const {
  const auto found = values_.find(option);
  return found == values_.end() ? std::vector<std::string>{} : found->second;
}

Result<std::optional<std::chrono::nanoseconds>> Args::duration(std::string_view option) const {
  const auto given = text(option);
  if (!given) return std::nullopt;
  return TRY(parse_duration(*given));
}

Result<std::optional<std::uint64_t>> Args::size(std::string_view option) const {
  const auto given = text(option);
  if (!given) return std::nullopt;
  return TRY(parse_size(*given));
}

Result<std::optional<std::uint64_t>> Args::number(std::string_view option, std::uint64_t least,
                                                  std::uint64_t most) const {
  const auto given = text(option);
  if (!given) return std::nullopt;
  const auto number = parse_number(*given);
  if (!number || *number < least || *number > most)
    return fail(Errc::kUsage, "invalid value '{}' for {}", *given, option)
        .hint("use a number between {} and {}", least, most);
  return *number;
}

Result<bool> Args::truth(std::string_view option, bool otherwise) const {
  const auto given = text(option);
  if (!given) return otherwise;
  if (equal_ignoring_case(*given, "true")) return true;
  if (equal_ignoring_case(*given, "false")) return false;
  return fail(Errc::kUsage, "invalid value '{}' for {}", *given, option).hint("use true or false");
}

std::string help_text(const Verb& verb) {
  auto text =
      fmt::format("{}\n\nUsage: clrscope {} {}\n\nOptions:\n", verb.summary, verb.name, verb.usage);
  for (const auto& group : verb.options)
    for (const auto& option : group) text += option_line(option);
  text += fmt::format("\nExamples:\n{}\n", verb.examples);
  return text;
}

std::string help_text() {
  std::string text =
      "clrscope shows what a .NET program on Linux is doing, why it is slow and what is wrong with "
      "it.\n\n"
      "Usage: clrscope VERB [options]\n\nVerbs:\n";
  for (const auto* verb : verbs()) text += fmt::format("  {:16}{}\n", verb->name, verb->summary);
  text += "\nRun clrscope VERB --help for the options of a verb. Start with: clrscope ps\n";
  return text;
}

}  // namespace clrscope::cli
