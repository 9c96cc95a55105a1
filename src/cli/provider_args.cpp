#include "cli/provider_args.h"

namespace clrscope::cli {
namespace {

constexpr Option kProviders[] = {
    {.name = "--profile",
     .value = "NAMES",
     .help = "named sets of providers; clrscope list-profiles lists them"},
    {.name = "--providers",
     .value = "LIST",
     .help =
         "providers: Name[:keywords[:level[:key=value;…]]],…; 'Name[1,5]' is events 1 and 5 only"},
    {.name = "--clrevents",
     .value = "LIST",
     .help = "groups of runtime events: gc+exception+contention"},
    {.name = "--clreventlevel",
     .value = "LEVEL",
     .help = "level of the --clrevents: informational, verbose, or 0 to 5"},
};

}  // namespace

const Options kProviderOptions{kProviders};

Result<ops::Sampler> sampler_of(const Args& args) {
  return ops::parse_sampler(args.text("--sampler").value_or("best"));
}

ops::ProviderWords provider_words(const Args& args) {
  return {args.text("--profile"), args.all("--providers"), args.text("--clrevents"),
          args.text("--clreventlevel")};
}

}  // namespace clrscope::cli
