#include "ops/event_selection.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "model/provider_names.h"
#include "ops/profiles.h"

namespace clrscope::ops {
namespace {

// Each throw and each wait writes an event with its stack. At the level of errors a throw is one
// event; above it each filter, catch and finally on its way is another two.
//
// Of the thread pool: all but the one (57) that a worker writes whenever it runs out of work, which
// can be more often than a program gets requests.
constexpr std::uint32_t kPoolEvents[] = {44, 45, 46, 47, 50, 51, 52, 53,
                                         54, 55, 59, 70, 71, 85, 86};
constexpr WhileCheap kDear[] = {
    {"exceptions", 0x8000, ipc::Level::kError},
    {"lock waits", 0x4000, ipc::Level::kInformational},
    {"thread pool events", 0x10000, ipc::Level::kInformational, false, kPoolEvents},
};

// Half of the events of a collection: DynamicEvent and MarkWithType, which comes several times for
// each heap.
constexpr std::uint32_t kCollectionDetails[] = {39, 202};

constexpr std::uint32_t kLineEventId = 190;  // MethodILToNativeMap

// Splits at commas, but neither inside "…" of a provider's arguments nor inside […] of its name.
Result<std::vector<std::string_view>> split_providers(std::string_view text) {
  std::vector<std::string_view> parts;
  bool quoted = false, in_ids = false, in_name = true;
  std::size_t begin = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '"') quoted = !quoted;
    if (quoted) continue;
    if (text[i] == ':') in_name = false;
    if (text[i] == '[' && in_name) in_ids = true;
    if (text[i] == ']') in_ids = false;
    if (text[i] != ',' || in_ids) continue;
    parts.push_back(text.substr(begin, i - begin));
    begin = i + 1;
    in_name = true;
  }
  if (quoted) return fail(Errc::kUsage, "unclosed quotation mark in '{}'", text);
  parts.push_back(text.substr(begin));
  return parts;
}

// Up to the next colon; what follows stays in `rest`.
std::string_view take_part(std::string_view& rest) {
  const auto colon = rest.find(':');
  const auto part = rest.substr(0, colon);
  rest.remove_prefix(colon == std::string_view::npos ? rest.size() : colon + 1);
  return trim(part);
}

Result<std::uint64_t> parse_keywords(std::string_view text) {
  // As dotnet-trace has it, keywords are hexadecimal with or without 0x.
  const auto prefixed = text.starts_with("0x") || text.starts_with("0X") ? std::string{text}
                                                                         : "0x" + std::string{text};
  if (const auto bits = parse_number(prefixed)) return *bits;
  std::uint64_t bits = 0;  // or names of the runtime's: gc+exception
  for (const auto word : split(text, '+')) {
    const auto keywords = clr_keywords();
    const auto known = std::ranges::find_if(
        keywords, [&](const auto& k) { return equal_ignoring_case(k.name, word); });
    if (known == keywords.end())
      return fail(Errc::kUsage, "invalid keyword mask '{}'", text)
          .hint("write it in hexadecimal, such as 0x8001");
    bits |= known->bits;
  }
  return bits;
}

// "1,5,10-19" of "Shop-Orders[1,5,10-19]".
Result<std::vector<std::uint32_t>> parse_event_ids(std::string_view text) {
  std::vector<std::uint32_t> ids;
  for (const auto part : split(text, ',')) {
    const auto dash = part.find('-');
    const auto first = parse_number(trim(part.substr(0, dash)));
    const auto last =
        dash == std::string_view::npos ? first : parse_number(trim(part.substr(dash + 1)));
    if (!first || !last || *first > *last || *last > kLargestEventId)
      return fail(Errc::kUsage, "invalid event id or range '{}'", part)
          .hint("write Name[1,5,10-19] with ids between 0 and {}", kLargestEventId);
    if (ids.size() + (*last - *first) >= kMostEventIds)
      return fail(Errc::kUsage, "'{}' has more than {} event ids", text, kMostEventIds)
          .hint("use keywords and a level instead");
    for (auto id = *first; id <= *last; ++id) ids.push_back(static_cast<std::uint32_t>(id));
  }
  std::ranges::sort(ids);
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
  return ids;
}

// Takes "[1,5]" off the end of a name.
Result<std::vector<std::uint32_t>> take_event_ids(std::string& name) {
  const auto open = name.find('[');
  if (open == std::string::npos) return std::vector<std::uint32_t>{};
  if (!name.ends_with(']'))
    return fail(Errc::kUsage, "'{}' has no closing ]", name).hint("Name[1,5,10-19]");
  const auto ids = name.substr(open + 1, name.size() - open - 2);
  name = trim(name.substr(0, open));
  return parse_event_ids(ids);
}

Result<ipc::Provider> parse_provider(std::string_view text) {
  auto rest = text;
  ipc::Provider provider{
      .name = std::string{take_part(rest)}, .keywords = ~0ULL, .level = ipc::Level::kVerbose};
  provider.event_ids = TRY(take_event_ids(provider.name));
  if (provider.name.empty())
    return fail(Errc::kUsage, "a provider in '{}' has no name", text)
        .hint("Name[:keywords[:level[:key=value;…]]]");
  if (const auto keywords = take_part(rest); !keywords.empty())
    provider.keywords = TRY(parse_keywords(keywords));
  if (const auto level = take_part(rest); !level.empty()) provider.level = TRY(parse_level(level));
  provider.arguments = std::string{trim(rest)};
  if (!provider.arguments.empty() && provider.arguments.find('=') == std::string::npos)
    return fail(Errc::kUsage, "invalid argument '{}' for provider {}", provider.arguments,
                provider.name)
        .hint("write key=value, separated by ;");
  return provider;
}

Result<ipc::Provider> parse_clr_events(std::string_view names,
                                       const std::optional<std::string>& level) {
  ipc::Provider provider{
      .name = std::string{kRuntimeProvider}, .keywords = 0, .level = ipc::Level::kInformational};
  std::vector<std::string_view> known;
  for (const auto& keyword : clr_keywords()) known.push_back(keyword.name);
  for (const auto word : split(names, '+')) {
    for (const auto name : split(word, ',')) {
      const auto keywords = clr_keywords();
      const auto found = std::ranges::find_if(
          keywords, [&](const auto& k) { return equal_ignoring_case(k.name, trim(name)); });
      if (found == keywords.end()) {
        const auto meant = nearest(trim(name), known);
        return fail(Errc::kUsage, "unknown group of CLR events '{}'", trim(name))
            .hint("{}", meant
                            ? "did you mean " + std::string{*meant} + "?"
                            : "use gc, exception, contention, jit, loader, threading and the like");
      }
      provider.keywords |= found->bits;
    }
  }
  if (level) provider.level = TRY(parse_level(*level));
  return provider;
}

void add_event_ids(ipc::Provider& provider, const std::vector<std::uint32_t>& ids) {
  auto& all = provider.event_ids;
  all.insert(all.end(), ids.begin(), ids.end());
  std::ranges::sort(all);
  all.erase(std::unique(all.begin(), all.end()), all.end());
}

// The union of keywords and event ids and the higher level, for the same provider named twice.
void merge(std::vector<RequestedProvider>& all, ipc::Provider provider, std::string asked_by) {
  for (auto& known : all) {
    if (!equal_ignoring_case(known.provider.name, provider.name)) continue;
    known.provider.keywords |= provider.keywords;
    known.provider.level = std::max(known.provider.level, provider.level);
    if (known.provider.arguments.empty()) known.provider.arguments = provider.arguments;
    if (known.provider.event_ids.empty() || provider.event_ids.empty())
      known.provider.event_ids.clear();  // one of them wants all
    else
      add_event_ids(known.provider, provider.event_ids);
    return;
  }
  all.push_back({std::move(provider), std::move(asked_by)});
}

bool names(const std::vector<RequestedProvider>& all, std::string_view provider) {
  return std::ranges::any_of(
      all, [&](const auto& one) { return equal_ignoring_case(one.provider.name, provider); });
}

Result<> add_profiles(std::string_view names_of_profiles, EventSelection& request) {
  std::vector<RequestedProvider> from_profiles;
  for (const auto name : split(names_of_profiles, ',')) {
    const auto* profile = TRY(find_trace_profile(trim(name)));
    request.rundown_keyword |= profile->rundown_keyword;
    request.kernel = std::max(request.kernel, profile->kernel);
    for (const auto& p : profile->providers)
      merge(from_profiles,
            {std::string{p.name}, p.keywords, static_cast<ipc::Level>(p.level),
             std::string{p.arguments}},
            "--profile");
  }
  for (auto& one : from_profiles)
    if (!names(request.providers, one.provider.name)) request.providers.push_back(std::move(one));
  return {};
}

// The end's rundown tells it of all that is still there; events of their own what went before.
void add_lines(EventSelection& request) {
  request.names |= kLineKeyword;
  request.rundown_keyword |= kNameKeywords | kLineKeyword;
  for (auto& one : request.providers) {
    if (!equal_ignoring_case(one.provider.name, kRuntimeProvider)) continue;
    one.provider.keywords |= kLineKeyword;
    if (!one.provider.event_ids.empty()) add_event_ids(one.provider, {kLineEventId});
  }
}

}  // namespace

void set_dear_apart(EventSelection& request) {
  request.stacks = false;
  request.unwanted_ids = kCollectionDetails;
  for (auto& one : request.providers) {
    if (!equal_ignoring_case(one.provider.name, kRuntimeProvider)) continue;
    if (!one.provider.event_ids.empty()) continue;
    for (const auto& dear : kDear) {
      if ((one.provider.keywords & dear.keyword) == 0) continue;
      one.provider.keywords &= ~dear.keyword;
      request.while_cheap.push_back(dear);
    }
  }
}

std::string provider_text(const ipc::Provider& provider) {
  std::string ids;
  const auto& all = provider.event_ids;  // in order
  for (std::size_t i = 0; i < all.size(); ++i) {
    const auto first = all[i];
    while (i + 1 < all.size() && all[i + 1] == all[i] + 1) ++i;
    ids += ids.empty() ? "[" : ",";
    ids += first == all[i] ? fmt::format("{}", first) : fmt::format("{}-{}", first, all[i]);
  }
  return fmt::format("{}{}{}:0x{:X}:{}", provider.name, ids, ids.empty() ? "" : "]",
                     provider.keywords, static_cast<unsigned>(provider.level));
}

Result<ipc::Level> parse_level(std::string_view text) {
  static constexpr std::string_view kNames[] = {"logalways", "critical",      "error",
                                                "warning",   "informational", "verbose"};
  for (std::uint32_t i = 0; i < std::size(kNames); ++i)
    if (equal_ignoring_case(kNames[i], text)) return static_cast<ipc::Level>(i);
  if (equal_ignoring_case(text, "info")) return ipc::Level::kInformational;
  if (const auto number = parse_number(text); number && *number <= 5)
    return static_cast<ipc::Level>(*number);
  return fail(Errc::kUsage, "unknown level '{}'", text)
      .hint("use 0 to 5, or critical, error, warning, informational, verbose");
}

Result<std::vector<ipc::Provider>> parse_providers(std::string_view text) {
  std::vector<ipc::Provider> providers;
  for (const auto part : TRY(split_providers(text)))
    providers.push_back(TRY(parse_provider(trim(part))));
  return providers;
}

Result<EventSelection> parse_selection(const ProviderWords& words) {
  EventSelection request;
  for (const auto& text : words.providers)
    for (auto& provider : TRY(parse_providers(text)))
      merge(request.providers, std::move(provider), "--providers");
  for (const auto& provider : words.ready) merge(request.providers, provider, "--providers");
  if (words.clr_events && names(request.providers, kRuntimeProvider))
    return fail(Errc::kUsage, "--clrevents and --providers both name {}", kRuntimeProvider)
        .hint("use one of them");
  if (words.clr_level && !words.clr_events)
    return fail(Errc::kUsage, "--clreventlevel requires --clrevents");
  if (words.clr_events)
    request.providers.push_back(
        {TRY(parse_clr_events(*words.clr_events, words.clr_level)), "--clrevents"});
  if (!request.providers.empty()) request.rundown_keyword = ipc::kDefaultRundown;
  if (words.profiles) TRY(add_profiles(*words.profiles, request));
  request.perf_events = words.perf_events;
  if (words.lines) add_lines(request);
  return request;
}

}  // namespace clrscope::ops
