#include "fleet/options.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "base/text.h"

namespace clrscope::fleet {

Result<CommandOptions> CommandOptions::parse(std::span<const OptionText> known,
                                             std::span<const std::string_view> words) {
  CommandOptions options;
  for (std::size_t at = 0; at < words.size(); ++at) {
    const auto equals = words[at].find('=');
    const auto name = words[at].substr(0, equals);
    const auto option = std::find_if(known.begin(), known.end(),
                                     [&](const OptionText& one) { return one.name == name; });
    if (option == known.end()) {
      std::vector<std::string_view> names;
      for (const auto& one : known) names.push_back(one.name);
      const auto meant = nearest(name, names);
      auto failure = fail(Errc::kUsage, "unknown option {}", name);
      return meant ? std::move(failure).hint("did you mean {}?", *meant)
                   : std::move(failure).hint("see --help");
    }
    auto& value = options.values_[option->name];
    if (option->value.empty()) {
      if (equals != std::string_view::npos)
        return fail(Errc::kUsage, "{} does not take a value", name);
    } else if (equals != std::string_view::npos) {
      value = words[at].substr(equals + 1);
    } else if (at + 1 < words.size()) {
      value = words[++at];
    } else {
      return fail(Errc::kUsage, "{} requires {}", name, option->value);
    }
  }
  return options;
}

std::string CommandOptions::text(std::string_view name, std::string_view otherwise) const {
  const auto found = values_.find(name);
  return found == values_.end() ? std::string{otherwise} : found->second;
}

Result<std::chrono::nanoseconds> CommandOptions::duration(
    std::string_view name, std::chrono::nanoseconds otherwise) const {
  if (!has(name)) return otherwise;
  return parse_duration(text(name));
}

Result<std::uint64_t> CommandOptions::size(std::string_view name, std::uint64_t otherwise) const {
  if (!has(name)) return otherwise;
  return parse_size(text(name));
}

std::string help_text(std::string_view usage, std::span<const OptionText> options,
                      std::string_view examples) {
  auto out = fmt::format("Usage: clrscope-fleet {}\n\n", usage);
  for (const auto& option : options)
    out +=
        fmt::format("  {:<26} {}\n", fmt::format("{} {}", option.name, option.value), option.help);
  return out + fmt::format("\nExamples:\n{}\n", examples);
}

}  // namespace clrscope::fleet
