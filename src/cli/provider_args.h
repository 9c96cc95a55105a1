// Which events of runtimes are wanted: what the verbs that ask for them share.
#pragma once

#include "cli/args.h"
#include "ops/wish.h"

namespace clrscope::cli {

extern const Options kProviderOptions;  // --profile, --providers, --clrevents, --clreventlevel

ops::ProviderWords provider_words(const Args& args);

}  // namespace clrscope::cli
