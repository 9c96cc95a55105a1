// Options that select events, shared by the verbs that record them.
#pragma once

#include "cli/args.h"
#include "ops/event_selection.h"

namespace clrscope::cli {

extern const Options kProviderOptions;  // --profile, --providers, --clrevents, --clreventlevel

ops::ProviderWords provider_words(const Args& args);

}  // namespace clrscope::cli
