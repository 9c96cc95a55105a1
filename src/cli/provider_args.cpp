#include "cli/provider_args.h"

namespace clrscope::cli {
namespace {

constexpr Option kProviders[] = {
    {.name = "--profile", .value = "NAMES", .help = "named sets of providers, see list-profiles"},
    {.name = "--providers",
     .value = "LIST",
     .help = "Name[:keywords[:level[:key=value;…]]],…; only events 1 and 5: 'Name[1,5]'"},
    {.name = "--clrevents",
     .value = "LIST",
     .help = "groups of runtime events: gc+exception+contention"},
    {.name = "--clreventlevel",
     .value = "LEVEL",
     .help = "how much of them: informational, verbose, 0 to 5"},
};

}  // namespace

const Options kProviderOptions{kProviders};

ops::ProviderWords provider_words(const Args& args) {
  return {args.text("--profile"), args.all("--providers"), args.text("--clrevents"),
          args.text("--clreventlevel")};
}

}  // namespace clrscope::cli
