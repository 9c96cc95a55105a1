#include "sinks/sink_kind.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "net/digest.h"

namespace clrscope::sinks {
namespace {

constexpr SinkOption kCommon[] = {
    {"interval", "TIME", "time between counter values (default: --refresh-interval)"},
    {"block", "yes|no", "wait for a slow sink instead of dropping its events"},
};

std::string names_of(std::span<const SinkOption> options) {
  std::string names;
  for (const auto& one : options) names += fmt::format("{}{}", names.empty() ? "" : ", ", one.name);
  return names;
}

bool has(std::span<const SinkOption> options, std::string_view name) {
  return std::ranges::any_of(options, [&](const auto& one) { return one.name == name; });
}

constexpr std::string_view kHeader = "header=";

bool is_option(std::string_view word) {
  const auto name = word.substr(0, word.find('='));
  return has(kCommon, name) || std::ranges::any_of(sink_kinds(), [&](const auto* kind) {
           return has(kind->options, name);
         });
}

// Values of headers and the query of a URL may be credentials: they are shown as "…".
std::string without_secrets(std::string_view text) {
  const auto words = split(text, ',');
  const auto query = words.front().find('?');
  std::string out{words.front().substr(0, query)};
  if (query != std::string_view::npos) out += "?…";
  bool in_header = false;
  for (const auto word : std::span{words}.subspan(1)) {
    out += ',';
    const auto equals = word.find('=', kHeader.size());
    if (in_header && !is_option(word)) {
      out += "…";  // the rest of a value with a comma in it
    } else if (in_header = word.starts_with(kHeader); in_header) {
      out += equals == std::string_view::npos ? "header=…"
                                              : std::string{word.substr(0, equals)} + "=…";
    } else {
      out += word;
    }
  }
  return out;
}

std::string identity_of(std::string_view text, const std::string& shown) {
  constexpr std::size_t kDigits = 32;  // 128 bits
  if (text == shown) return shown;
  return shown + "#" + net::sha256_hex(text).substr(0, kDigits);
}

}  // namespace

#define SINK(name) extern const SinkKind name##_sink;
#include "sinks/sinks.inc"
#undef SINK

std::span<const SinkKind* const> sink_kinds() {
  static constexpr const SinkKind* kAll[] = {
#define SINK(name) &name##_sink,
#include "sinks/sinks.inc"
#undef SINK
  };
  return kAll;
}

std::span<const SinkOption> common_sink_options() { return kCommon; }

Result<SinkAddress> parse_sink(std::string_view given) {
  SinkAddress address{.text = without_secrets(given)};
  address.identity = identity_of(given, address.text);
  const auto& text = address.text;
  const auto words = split(given, ',');
  const auto first = words.front();
  const auto colon = first.find(':');
  const auto name = first.substr(0, colon);
  for (const auto* kind : sink_kinds())
    if (kind->name == name) address.kind = kind;
  if (!address.kind) {
    std::string known;
    for (const auto* kind : sink_kinds())
      known += fmt::format("{}{}", known.empty() ? "" : ", ", kind->name);
    return fail(Errc::kUsage, "--to {}: unknown sink '{}'", text, name)
        .hint("use one of {}", known);
  }
  const auto& kind = *address.kind;
  if (colon != std::string_view::npos) address.target = first.substr(colon + 1);
  if (address.target.empty() && !kind.target.empty() && !kind.target.starts_with('['))
    return fail(Errc::kUsage, "--to {}: a target is required", text)
        .hint("{}:{}", kind.name, kind.target);
  for (const auto word : std::span{words}.subspan(1)) {
    const auto equals = word.find('=');
    const auto key = word.substr(0, equals);
    if (!is_option(word) && !address.all("header").empty())
      return fail(Errc::kUsage, "--to {}: the value of a header contains a comma", text)
          .hint("use header-file=FILE with one NAME: VALUE per line");
    if (!has(kind.options, key) && !has(kCommon, key))
      return fail(Errc::kUsage, "--to {}: {} has no option '{}'", text, kind.name, key)
          .hint("it has {}{}{}", names_of(kind.options), kind.options.empty() ? "" : ", ",
                names_of(kCommon));
    if (equals == std::string_view::npos)
      return fail(Errc::kUsage, "--to {}: option '{}' has no value", text, key)
          .hint("{}=VALUE", key);
    address.options.emplace_back(key, word.substr(equals + 1));
  }
  return address;
}

std::optional<std::string> SinkAddress::option(std::string_view name) const {
  std::optional<std::string> found;
  for (const auto& [key, value] : options)
    if (key == name) found = value;
  return found;
}

std::vector<std::string> SinkAddress::all(std::string_view name) const {
  std::vector<std::string> found;
  for (const auto& [key, value] : options)
    if (key == name) found.push_back(value);
  return found;
}

Result<std::uint64_t> SinkAddress::number(std::string_view name, std::uint64_t otherwise,
                                          std::uint64_t least, std::uint64_t most) const {
  const auto word = option(name);
  if (!word) return otherwise;
  const auto number = parse_number(*word);
  if (!number || *number < least || *number > most)
    return fail(Errc::kUsage, "--to {}: {}='{}' must be a number between {} and {}", text, name,
                *word, least, most);
  return *number;
}

Result<std::chrono::nanoseconds> SinkAddress::duration(std::string_view name,
                                                       std::chrono::nanoseconds otherwise) const {
  const auto word = option(name);
  if (!word) return otherwise;
  auto duration = parse_duration(*word);
  if (!duration || *duration <= std::chrono::nanoseconds::zero())
    return fail(Errc::kUsage, "--to {}: {}='{}' is not a duration", text, name, *word)
        .hint("write it as 10s, 1m or 500ms");
  return *duration;
}

Result<std::uint64_t> SinkAddress::size(std::string_view name, std::uint64_t otherwise) const {
  const auto word = option(name);
  if (!word) return otherwise;
  const auto size = parse_size(*word);
  if (!size || *size == 0)
    return fail(Errc::kUsage, "--to {}: {}='{}' is not a size", text, name, *word)
        .hint("64MiB, 1.5GB");
  return *size;
}

Result<bool> SinkAddress::truth(std::string_view name, bool otherwise) const {
  const auto word = option(name);
  if (!word) return otherwise;
  for (const auto yes : {"yes", "true", "1", "on"})
    if (equal_ignoring_case(*word, yes)) return true;
  for (const auto no : {"no", "false", "0", "off"})
    if (equal_ignoring_case(*word, no)) return false;
  return fail(Errc::kUsage, "--to {}: {}='{}' must be yes or no", text, name, *word);
}

Result<std::string> SinkAddress::one_of(std::string_view name, std::string_view otherwise,
                                        std::span<const std::string_view> words) const {
  const auto word = option(name);
  if (!word) return std::string{otherwise};
  if (std::ranges::find(words, *word) != words.end()) return *word;
  return fail(Errc::kUsage, "--to {}: invalid value {}='{}'", text, name, *word)
      .hint("use one of {}", fmt::join(words, ", "));
}

}  // namespace clrscope::sinks
