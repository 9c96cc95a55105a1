// Names of the event providers that clrscope enables and reads, each written once.
#pragma once

#include <string_view>

namespace clrscope {

// The runtime's own.
inline constexpr std::string_view kRuntimeProvider = "Microsoft-Windows-DotNETRuntime";
inline constexpr std::string_view kRundownProvider = "Microsoft-Windows-DotNETRuntimeRundown";
inline constexpr std::string_view kPrivateProvider = "Microsoft-Windows-DotNETRuntimePrivate";
inline constexpr std::string_view kSamplerProvider = "Microsoft-DotNETCore-SampleProfiler";
inline constexpr std::string_view kEventPipeProvider = "Microsoft-DotNETCore-EventPipe";

// EventSources and meters of the libraries.
inline constexpr std::string_view kTasksProvider = "System.Threading.Tasks.TplEventSource";
inline constexpr std::string_view kFrameworkProvider =
    "System.Diagnostics.Eventing.FrameworkEventSource";
inline constexpr std::string_view kDiagnosticSourceProvider =
    "Microsoft-Diagnostics-DiagnosticSource";
inline constexpr std::string_view kMetricsProvider = "System.Diagnostics.Metrics";
inline constexpr std::string_view kLoggingProvider = "Microsoft-Extensions-Logging";
inline constexpr std::string_view kSystemRuntimeProvider = "System.Runtime";
inline constexpr std::string_view kHttpProvider = "System.Net.Http";
inline constexpr std::string_view kNameResolutionProvider = "System.Net.NameResolution";
inline constexpr std::string_view kHostingProvider = "Microsoft.AspNetCore.Hosting";
inline constexpr std::string_view kKestrelProvider = "Microsoft-AspNetCore-Server-Kestrel";

// Of traces that are recorded with the kernel: docs/formats/nettrace.md.
inline constexpr std::string_view kUniversalSystemProvider = "Universal.System";
inline constexpr std::string_view kUniversalEventsProvider = "Universal.Events";
inline constexpr std::string_view kTracepointProvider = "Linux.Events";

// clrscope's own. The first has IL maps of code that the runtime has none of: events IlMap.
inline constexpr std::string_view kSymbolsProvider = "Clrscope.Symbols";
inline constexpr std::string_view kDerivedProvider = "Clrscope.Runtime";
// Profiled HTTP requests: docs/formats/requests.md.
inline constexpr std::string_view kRequestsProvider = "Clrscope-Requests";

}  // namespace clrscope
