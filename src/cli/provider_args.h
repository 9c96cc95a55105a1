// Options that select events, shared by the verbs that record them.
#pragma once

#include "cli/args.h"
#include "ops/event_selection.h"
#include "ops/sampler.h"

namespace clrscope::cli {

extern const Options kProviderOptions;  // --profile, --providers, --clrevents, --clreventlevel

inline constexpr Option kSamplerOption{
    .name = "--sampler",
    .value = "NAME",
    .help = "source of CPU samples: best, perf, agent or runtime (default: best)"};
Result<ops::Sampler> sampler_of(const Args& args);

ops::ProviderWords provider_words(const Args& args);

}  // namespace clrscope::cli
