// Combines --profile, --providers and --clrevents into one table of providers to record.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "ipc/commands.h"
#include "ops/profiles.h"

namespace clrscope::ops {

// Words of rooms below that are part of this interface.
using ipc::Level;
using ipc::Provider;

inline constexpr const char* kDefaultProfiles = "dotnet-common,cpu-sampling";
inline constexpr const char* kDefaultMachineProfiles = "dotnet-common,thread-time";
inline constexpr const char* kDefaultProfilesWithoutPerf =
    "dotnet-common,dotnet-sampled-thread-time";

struct ProviderWords {
  std::optional<std::string> profiles{};  // "dotnet-common,gc-verbose"
  std::vector<std::string> providers{};   // each "Name[ids][:keywords[:level[:k=v;k2="v"]]],…"
  std::optional<std::string> clr_events{};
  std::optional<std::string> clr_level{};
  std::vector<ipc::Provider> ready{};      // providers that are taken apart already
  std::vector<std::string> perf_events{};  // each "sched:sched_switch,syscalls,page-faults,…"
  bool lines = false;                      // what source lines need, too
  bool by_name = true;  // false: nobody named these providers, so what is dear may be left out

  bool empty() const {
    return !profiles && providers.empty() && ready.empty() && !clr_events && !clr_level &&
           perf_events.empty();
  }
};

struct RequestedProvider {
  ipc::Provider provider;
  std::string asked_by;  // "--profile", "--providers", "--clrevents"
};

constexpr std::uint64_t kNameKeywords = 0x38;    // loader, JIT, NGEN
constexpr std::uint64_t kLineKeyword = 0x20000;  // which IL machine code came from

// Events of the runtime that nobody asked for by name: recorded while they cost the program little.
struct WhileCheap {
  std::string_view what;  // "exceptions"
  std::uint64_t keyword;
  ipc::Level level;
  bool stacks = true;
  std::span<const std::uint32_t> ids{};  // only these, where the runtime can choose; empty: all
};

struct EventSelection {
  std::vector<RequestedProvider> providers;
  std::vector<WhileCheap> while_cheap{};
  std::uint64_t rundown_keyword = 0;
  KernelData kernel = KernelData::kNothing;
  std::vector<std::string> perf_events{};  // as they were asked for
  std::uint64_t names = kNameKeywords;  // of the runtime's: what gives addresses names, and lines
  bool stacks = true;  // false: no report uses those of the runtime's events, and each costs time
  std::span<const std::uint32_t> unwanted_ids{};  // of the runtime's, where it can leave them out
};

// A provider named by --providers wins over the same one
// from a profile.
Result<EventSelection> parse_selection(const ProviderWords& words);

// Takes what can be dear out of the runtime's events, into `while_cheap`; the rest, collections and
// compiled methods, come without stacks and without details of collections that no report uses.
void set_dear_apart(EventSelection& request);

constexpr std::size_t kMostEventIds = 1000;  // of a provider
constexpr std::uint32_t kLargestEventId = 0xFFFF;

// One --providers value. Keywords and level may be left out: all keywords, verbose. Event ids stand
// in brackets behind the name: Shop-Orders[1,5,10-19].
Result<std::vector<ipc::Provider>> parse_providers(std::string_view text);

// As parse_providers() reads it, without its arguments: "Shop-Orders[1,5,10-19]:0x1:4".
std::string provider_text(const ipc::Provider& provider);

Result<ipc::Level> parse_level(std::string_view text);

}  // namespace clrscope::ops
