#include <fmt/format.h>

#include "model/provider_names.h"
#include "ops/profiles.h"

namespace clrscope::ops {
namespace {

struct KnownProvider {
  std::string_view name, summary;
};
constexpr KnownProvider kProviders[] = {
    {kRuntimeProvider, "the runtime: collections, JIT, exceptions, locks, thread pool"},
    {kPrivateProvider, "details of the runtime's collections"},
    {kSamplerProvider, "stacks of all managed threads, about 100 times a second"},
    {kTasksProvider, "tasks, awaits and activities"},
    {kFrameworkProvider, "work items of the thread pool"},
    {kDiagnosticSourceProvider, "requests and database commands, by DiagnosticSource"},
    {kLoggingProvider, "log messages (ILogger)"},
    {kMetricsProvider, "instruments of System.Diagnostics.Metrics"},
    {kSystemRuntimeProvider, "event counters of the runtime"},
    {kHttpProvider, "outgoing HTTP requests"},
    {kNameResolutionProvider, "DNS lookups"},
    {kHostingProvider, "incoming HTTP requests of ASP.NET Core"},
    {kKestrelProvider, "connections and requests of Kestrel"},
};

}  // namespace

std::span<const std::string_view> names_of(KernelData) {
  static constexpr std::string_view kNames[] = {"nothing", "cpuSamples", "threadTime"};
  return kNames;
}

const Shape& shape_of(const ProfileProviderAnswer*) {
  using A = ProfileProviderAnswer;
  static const auto shape = clrscope::describe<A>(
      "ProfileProvider", "a provider that a profile enables",
      {member<&A::name>("name", "name of the provider"),
       member<&A::keywords>("keywords", "keywords, hexadecimal"),
       member<&A::level>("level", "highest event level: 4 informational, 5 verbose"),
       member<&A::arguments>("arguments", "arguments passed to the provider")});
  return shape;
}

const Shape& shape_of(const ProfileAnswer*) {
  using A = ProfileAnswer;
  static const auto shape = clrscope::describe<A>(
      "TraceProfile", "a named set of providers for collect --profile",
      {member<&A::name>("name", "name of the profile"),
       member<&A::summary>("summary", "what it records"),
       member<&A::providers>("providers", "runtime providers it enables"),
       member<&A::rundown_keyword>("rundownKeyword", "keywords of the rundown, hexadecimal"),
       member<&A::kernel>("kernel", "what it takes from the kernel beside runtime events")});
  return shape;
}

std::vector<ProfileAnswer> profile_answers() {
  std::vector<ProfileAnswer> answers;
  for (const auto& profile : trace_profiles()) {
    ProfileAnswer answer{.name = profile.name,
                         .summary = profile.summary,
                         .rundown_keyword = fmt::format("0x{:X}", profile.rundown_keyword),
                         .kernel = profile.kernel};
    for (const auto& p : profile.providers)
      answer.providers.push_back({p.name, fmt::format("0x{:X}", p.keywords), p.level,
                                  unless_empty(std::string{p.arguments})});
    answers.push_back(std::move(answer));
  }
  return answers;
}

const Shape& shape_of(const KeywordAnswer*) {
  using A = KeywordAnswer;
  static const auto shape =
      clrscope::describe<A>("Keyword", "a keyword of a provider: a group of its events",
                            {member<&A::name>("name", "name of the keyword"),
                             member<&A::value>("value", "its bits, hexadecimal")});
  return shape;
}

const Shape& shape_of(const ProviderAnswer*) {
  using A = ProviderAnswer;
  static const auto shape = clrscope::describe<A>(
      "Provider", "an event provider that can be recorded",
      {member<&A::name>("name", "name of the provider"),
       member_unless_empty<&A::summary>("summary", "what its events tell"),
       member<&A::keywords>("keywords", "its keywords, as far as clrscope knows their names")});
  return shape;
}

std::vector<ProviderAnswer> provider_answers() {
  std::vector<ProviderAnswer> answers;
  for (const auto& known : kProviders) answers.push_back({known.name, known.summary, {}});
  for (const auto& keyword : clr_keywords())
    answers.front().keywords.push_back({keyword.name, fmt::format("0x{:x}", keyword.bits)});
  return answers;
}

}  // namespace clrscope::ops
