#include "ops/profiles.h"

#include <fmt/format.h>

#include "base/text.h"
#include "ipc/commands.h"

namespace clrscope::ops {
namespace {

constexpr std::string_view kRuntime = "Microsoft-Windows-DotNETRuntime";

constexpr ProfileProvider kCommon[] = {{kRuntime, 0x100003801D, 4}};
constexpr ProfileProvider kSampled[] = {{"Microsoft-DotNETCore-SampleProfiler", 0xF00000000000, 4}};
constexpr ProfileProvider kGcVerbose[] = {{kRuntime, 0x8003, 5}};
constexpr ProfileProvider kGcCollect[] = {{kRuntime, 0x1, 4},
                                          {"Microsoft-Windows-DotNETRuntimePrivate", 0x1, 4}};

// Which members of the command objects the DiagnosticSource bridge copies into its events.
constexpr std::string_view kDatabaseSpecs =
    "FilterAndPayloadSpecs=\""
    "SqlClientDiagnosticListener/"
    "System.Data.SqlClient.WriteCommandBefore@Activity1Start:-Command;Command.CommandText;"
    "ConnectionId;"
    "Operation;Command.Connection.ServerVersion;Command.CommandTimeout;Command.CommandType;Command."
    "Connection.ConnectionString;"
    "Command.Connection.Database;Command.Connection.DataSource;Command.Connection.PacketSize\r\n"
    "SqlClientDiagnosticListener/System.Data.SqlClient.WriteCommandAfter@Activity1Stop:\r\n"
    "Microsoft.EntityFrameworkCore/"
    "Microsoft.EntityFrameworkCore.Database.Command.CommandExecuting@Activity2Start:-Command."
    "CommandText;"
    "Command;ConnectionId;IsAsync;Command.Connection.ClientConnectionId;Command.Connection."
    "ServerVersion;"
    "Command.CommandTimeout;Command.CommandType;Command.Connection.ConnectionString;Command."
    "Connection.Database;"
    "Command.Connection.DataSource;Command.Connection.PacketSize\r\n"
    "Microsoft.EntityFrameworkCore/"
    "Microsoft.EntityFrameworkCore.Database.Command.CommandExecuted@Activity2Stop:\"";
constexpr ProfileProvider kDatabase[] = {
    {"System.Threading.Tasks.TplEventSource", 0x80, 4},
    {"Microsoft-Diagnostics-DiagnosticSource", 0x3, 5, kDatabaseSpecs},
};

// Activities bring the beginning and the end of a call together.
constexpr ProfileProvider kHttp[] = {
    {"System.Threading.Tasks.TplEventSource", 0x80, 4},
    {"System.Net.Http", ~0ULL, 4},
    {"System.Net.NameResolution", ~0ULL, 4},
};

// Tasks and AsyncCausalityOperation, which also tells the end of tasks: without TaskStops there is
// an event less for each task and each await. Verbose, since ends of waits are.
constexpr ProfileProvider kTasks[] = {{"System.Threading.Tasks.TplEventSource", 0xA, 5}};

constexpr TraceProfile kProfiles[] = {
    {"dotnet-common",
     "GC, loader, JIT, exceptions, threading: the runtime's everyday events, little cost", kCommon,
     ipc::kDefaultRundown},
    {"dotnet-sampled-thread-time",
     "stacks of all managed threads about 100 times a second, running or waiting", kSampled,
     ipc::kDefaultRundown},
    {"gc-verbose", "collections and a sample of allocations", kGcVerbose, ipc::kDefaultRundown},
    {"gc-collect", "collections only, next to no cost", kGcCollect, 0x1},
    {"database", "ADO.NET and Entity Framework commands", kDatabase, ipc::kDefaultRundown},
    {"http", "HTTP requests that the program sends, and names it looks up", kHttp,
     ipc::kDefaultRundown},
    {"tasks", "tasks, async methods, awaits and waits for tasks, with stacks", kTasks,
     ipc::kDefaultRundown},
    {"cpu-sampling",
     "what the CPUs execute, 999 times a second: managed, native and kernel frames",
     {},
     ipc::kDefaultRundown,
     KernelWish::kCpuSamples},
    {"thread-time",
     "the same, and where threads wait and for how long",
     {},
     ipc::kDefaultRundown,
     KernelWish::kThreadTime},
};

constexpr NamedKeyword kClrKeywords[] = {
    {"gc", 0x1},
    {"gchandle", 0x2},
    {"assemblyloader", 0x4},
    {"loader", 0x8},
    {"jit", 0x10},
    {"ngen", 0x20},
    {"startenumeration", 0x40},
    {"endenumeration", 0x80},
    {"security", 0x400},
    {"appdomainresourcemanagement", 0x800},
    {"jittracing", 0x1000},
    {"interop", 0x2000},
    {"contention", 0x4000},
    {"exception", 0x8000},
    {"threading", 0x10000},
    {"jittedmethodiltonativemap", 0x20000},
    {"overrideandsuppressngenevents", 0x40000},
    {"type", 0x80000},
    {"gcheapdump", 0x100000},
    {"gcsampledobjectallocationhigh", 0x200000},
    {"gcheapsurvivalandmovement", 0x400000},
    {"gcheapcollect", 0x800000},
    {"managedheapcollect", 0x800000},
    {"gcheapandtypenames", 0x1000000},
    {"gcsampledobjectallocationlow", 0x2000000},
    {"perftrack", 0x20000000},
    {"stack", 0x40000000},
    {"threadtransfer", 0x80000000},
    {"debugger", 0x100000000},
    {"monitoring", 0x200000000},
    {"codesymbols", 0x400000000},
    {"eventsource", 0x800000000},
    {"compilation", 0x1000000000},
    {"compilationdiagnostic", 0x2000000000},
    {"methoddiagnostic", 0x4000000000},
    {"typediagnostic", 0x8000000000},
    {"jitinstrumentationdata", 0x10000000000},
    {"profiler", 0x20000000000},
    {"waithandle", 0x40000000000},
    {"allocationsampling", 0x80000000000},
};

}  // namespace

std::span<const TraceProfile> trace_profiles() { return kProfiles; }

Result<const TraceProfile*> find_trace_profile(std::string_view name) {
  std::vector<std::string_view> names;
  for (const auto& profile : kProfiles) {
    if (equal_ignoring_case(profile.name, name)) return &profile;
    names.push_back(profile.name);
  }
  auto failure = fail(Errc::kUsage, "there is no profile '{}'", name);
  if (const auto meant = nearest(name, names))
    return std::move(failure).hint("did you mean {}?", *meant);
  return std::move(failure).hint("one of {}", fmt::join(names, ", "));
}

std::span<const NamedKeyword> clr_keywords() { return kClrKeywords; }

}  // namespace clrscope::ops
