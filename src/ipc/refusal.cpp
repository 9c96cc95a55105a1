#include "ipc/refusal.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "base/text.h"

namespace clrscope::ipc {
namespace {

struct Code {
  std::uint32_t value;
  const char* name;
  Errc kind;
  const char* meaning;
  const char* hint;
};

// Sorted by value.
constexpr Code kCodes[] = {
    {0x80004001, "E_NOTIMPL", Errc::kUnsupported, "this runtime does not support the function", ""},
    {0x80004002, "E_NOINTERFACE", Errc::kUnsupported,
     "the profiler library lacks an interface that the runtime requires",
     "check that it is built for this runtime"},
    {0x80004005, "E_FAIL", Errc::kSystem, "the runtime failed", ""},
    {0x80040111, "CLASS_E_CLASSNOTAVAILABLE", Errc::kNotFound,
     "the profiler library does not know that class id", "check the class id and the library"},
    {0x80070002, "ERROR_FILE_NOT_FOUND", Errc::kNotFound, "the target cannot find the file",
     "the path must exist in the target's own file system"},
    {0x80070005, "E_ACCESSDENIED", Errc::kDenied, "the target lacks the permission",
     "check the file's owner and mode: the target itself needs access"},
    {0x8007000e, "E_OUTOFMEMORY", Errc::kSystem, "the target is out of memory",
     "request less, for example a smaller buffer"},
    {0x80070057, "E_INVALIDARG", Errc::kUsage, "the runtime rejected an argument", ""},
    {0x8007007e, "ERROR_MOD_NOT_FOUND", Errc::kNotFound, "the target cannot load the library",
     "the path must exist in the target's own file system, be readable by its user and lie on a "
     "file system without noexec"},
    {0x8007007f, "ERROR_PROC_NOT_FOUND", Errc::kUnsupported,
     "the library is not a profiler: it has no DllGetClassObject", ""},
    {0x8013135b, "CORPROF_E_NOT_YET_AVAILABLE", Errc::kUnsupported, "the runtime is still starting",
     "resume it first, or try again in a moment"},
    {0x80131366, "CORPROF_E_PROFILER_ATTACH_FAILED_OR_DETACHED", Errc::kSystem,
     "the profiler is not attached", ""},
    {0x80131367, "CORPROF_E_PROFILER_DETACHING", Errc::kSystem, "a profiler is just detaching",
     "try again in a few seconds"},
    {0x80131368, "CORPROF_E_PROFILER_NOT_ATTACHABLE", Errc::kUnsupported,
     "the profiler cannot be attached to a running process", "load it at start instead"},
    {0x80131369, "CORPROF_E_UNRECOGNIZED_PIPE_MSG_FORMAT", Errc::kCorrupt,
     "the runtime does not understand the request", ""},
    {0x8013136a, "CORPROF_E_PROFILER_ALREADY_ACTIVE", Errc::kDenied,
     "another profiler is loaded already",
     "detach the other profiler, or restart the target without it"},
    {0x8013136b, "CORPROF_E_PROFILEE_INCOMPATIBLE_WITH_TRIGGER", Errc::kUnsupported,
     "the runtime is of an incompatible version", ""},
    {0x8013136c, "CORPROF_E_IPC_FAILED", Errc::kSystem, "communication with the runtime failed",
     ""},
    {0x8013136d, "CORPROF_E_PROFILEE_PROCESS_NOT_FOUND", Errc::kNotFound, "no such process", ""},
    {0x8013136e, "CORPROF_E_CALLBACK3_REQUIRED", Errc::kUnsupported,
     "the profiler library is too old to be attached", ""},
    {0x8013136f, "CORPROF_E_UNSUPPORTED_FOR_ATTACHING_PROFILER", Errc::kUnsupported,
     "not permitted for an attached profiler", "load it at start instead"},
    {0x80131370, "CORPROF_E_IRREVERSIBLE_INSTRUMENTATION_PRESENT", Errc::kUnsupported,
     "the profiler has changed code permanently", "restart the target"},
    {0x80131371, "CORPROF_E_RUNTIME_UNINITIALIZED", Errc::kUnsupported,
     "the runtime is still starting", "resume it first, or try again in a moment"},
    {0x80131372, "CORPROF_E_IMMUTABLE_FLAGS_SET", Errc::kUnsupported,
     "the profiler has set flags that can only be set at start", ""},
    {0x80131373, "CORPROF_E_PROFILER_NOT_YET_INITIALIZED", Errc::kSystem,
     "the profiler is still starting", "try again in a moment"},
    {0x80131374, "CORPROF_E_INCONSISTENT_WITH_FLAGS", Errc::kUnsupported,
     "the profiler's flags forbid that", ""},
    {0x80131375, "CORPROF_E_PROFILER_CANCEL_ACTIVATION", Errc::kUnsupported,
     "the profiler declined to start", ""},
    {0x80131376, "CORPROF_E_CONCURRENT_GC_NOT_PROFILABLE", Errc::kUnsupported,
     "not possible with concurrent GC", "start the target with DOTNET_gcConcurrent=0"},
    {0x80131378, "CORPROF_E_DEBUGGING_DISABLED", Errc::kDenied,
     "profiling is switched off in the target",
     "start it without DOTNET_EnableDiagnostics=0 and DOTNET_EnableDiagnostics_Profiler=0"},
    {0x80131379, "CORPROF_E_TIMEOUT_WAITING_FOR_CONCURRENT_GC", Errc::kTimeout,
     "a garbage collection did not end in time", "try again"},
    {0x8013137b, "CORPROF_E_CALLBACK4_REQUIRED", Errc::kUnsupported,
     "the profiler library is too old for that", ""},
    {0x80131384, "CORDIAGIPC_E_BAD_ENCODING", Errc::kCorrupt,
     "the runtime does not understand the request", "please report this as a defect of clrscope"},
    {0x80131385, "CORDIAGIPC_E_UNKNOWN_COMMAND", Errc::kUnsupported,
     "this runtime does not know the command", "use a newer .NET in the target"},
    {0x80131386, "CORDIAGIPC_E_UNKNOWN_MAGIC", Errc::kUnsupported,
     "the runtime uses another version of the protocol", ""},
    {0x80131387, "CORDIAGIPC_E_UNKNOWN_ERROR", Errc::kSystem, "the runtime failed", ""},
    {0x80131388, "CORPROF_E_SUSPENSION_IN_PROGRESS", Errc::kSystem,
     "the runtime is being suspended by another tool", "try again in a moment"},
    {0x80131515, "COR_E_NOTSUPPORTED", Errc::kUnsupported, "this runtime does not support it",
     "Mono and NativeAOT runtimes lack some commands"},
};
static_assert(std::ranges::is_sorted(kCodes, {}, &Code::value));

const Code* find_code(std::uint32_t value) {
  const auto* code = std::ranges::lower_bound(kCodes, value, {}, &Code::value);
  return code != std::end(kCodes) && code->value == value ? code : nullptr;
}

// createdump's lines as one: "[createdump] Could not …\n[createdump] Failure took 2ms\n".
std::string one_line(std::string_view text) {
  constexpr std::string_view kTag = "[createdump] ";
  std::string line;
  for (auto part : split(text, '\n')) {
    if (part.starts_with(kTag)) part.remove_prefix(kTag.size());
    part = trim(part);
    if (part.empty() || part.starts_with("Failure took")) continue;
    if (!line.empty()) line += "; ";
    line += part;
  }
  return line;
}

}  // namespace

std::string_view name_of_code(std::uint32_t code) {
  const auto* known = find_code(code);
  return known ? known->name : "";
}

Error error_of(const Command& command, std::string_view endpoint, const Refusal& refusal) {
  const auto* known = find_code(refusal.code);
  const auto words = one_line(refusal.text);
  const std::string_view meaning = !words.empty() ? std::string_view{words}
                                   : known        ? known->meaning
                                                  : "for an unknown reason";
  return Error{
      .code = known ? known->kind : Errc::kSystem,
      .what = fmt::format("{} refused {}: {} ({}0x{:08x})", endpoint, command.name, meaning,
                          known ? fmt::format("{} ", known->name) : "", refusal.code),
      .hint = known ? known->hint : ""};
}

}  // namespace clrscope::ipc
