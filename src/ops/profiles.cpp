#include "ops/profiles.h"

#include <fmt/format.h>

#include "base/text.h"
#include "ipc/commands.h"
#include "model/provider_names.h"

namespace clrscope::ops {
namespace {

constexpr ProfileProvider kCommon[] = {{kRuntimeProvider, 0x100003801D, 4}};
constexpr ProfileProvider kSampled[] = {{kSamplerProvider, 0xF00000000000, 4}};
constexpr ProfileProvider kGcVerbose[] = {{kRuntimeProvider, 0x8003, 5}};
constexpr ProfileProvider kGcCollect[] = {{kRuntimeProvider, 0x1, 4}, {kPrivateProvider, 0x1, 4}};

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
    {kTasksProvider, 0x80, 4},
    {kDiagnosticSourceProvider, 0x3, 5, kDatabaseSpecs},
};

// Activities bring the beginning and the end of a call together.
constexpr ProfileProvider kHttp[] = {
    {kTasksProvider, 0x80, 4},
    {kHttpProvider, ~0ULL, 4},
    {kNameResolutionProvider, ~0ULL, 4},
};

// Tasks and AsyncCausalityOperation, which also tells the end of tasks: without TaskStops there is
// an event less for each task and each await. Verbose, since ends of waits are.
constexpr ProfileProvider kTasks[] = {{kTasksProvider, 0xA, 5}};

constexpr TraceProfile kProfiles[] = {
    {"dotnet-common", "GC, loader, JIT, exceptions, threading: common runtime events, low overhead",
     kCommon, ipc::kDefaultRundown},
    {"dotnet-sampled-thread-time",
     "stacks of all managed threads, running or waiting, about 100 times a second", kSampled,
     ipc::kDefaultRundown},
    {"gc-verbose", "garbage collections and sampled allocations", kGcVerbose, ipc::kDefaultRundown},
    {"gc-collect", "garbage collections only, very low overhead", kGcCollect, 0x1},
    {"database", "ADO.NET and Entity Framework commands", kDatabase, ipc::kDefaultRundown},
    {"http", "outgoing HTTP requests and DNS lookups", kHttp, ipc::kDefaultRundown},
    {"tasks", "tasks, async methods, awaits and task waits, with stacks", kTasks,
     ipc::kDefaultRundown},
    {"cpu-sampling",
     "CPU samples, 499 per second: managed, native and kernel frames",
     {},
     ipc::kDefaultRundown,
     KernelData::kCpuSamples},
    {"thread-time",
     "CPU samples, and where and how long threads wait",
     {},
     ipc::kDefaultRundown,
     KernelData::kThreadTime},
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
  auto failure = fail(Errc::kUsage, "unknown profile '{}'", name);
  if (const auto meant = nearest(name, names))
    return std::move(failure).hint("did you mean {}?", *meant);
  return std::move(failure).hint("use one of {}", fmt::join(names, ", "));
}

std::span<const NamedKeyword> clr_keywords() { return kClrKeywords; }

}  // namespace clrscope::ops
