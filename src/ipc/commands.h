// The commands of the runtime's diagnostic port, one function each: one connection, one request,
// one answer, one deadline.
//
// An answer that is garbage, half a frame or never comes is an Error. A runtime's refusal is an
// Error with the name of its code and a hint. The frames themselves: frame.h. Specification:
// docs/formats/ipc.md
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/fd.h"
#include "base/result.h"
#include "ipc/endpoint.h"

namespace clrscope::ipc {

constexpr std::chrono::seconds kDefaultPatience{5};

struct ProcessInfo {
  std::uint64_t pid = 0;  // in the runtime's own pid namespace
  std::array<std::uint8_t, 16> cookie{};
  std::string command_line;
  std::string operating_system;
  std::string architecture;
  std::string entry_assembly{};   // from ProcessInfo2 on
  std::string runtime_version{};  // likewise; "10.0.12"
  std::string portable_rid{};     // from ProcessInfo3 on; "linux-x64"
};

// Asks for the newest form the runtime knows: ProcessInfo3, 2, 1.
Result<ProcessInfo> process_info(Endpoint& runtime,
                                 std::chrono::nanoseconds patience = kDefaultPatience);

Result<std::map<std::string, std::string>> environment(
    Endpoint& runtime, std::chrono::nanoseconds patience = kDefaultPatience);

enum class Level : std::uint32_t {
  kLogAlways,
  kCritical,
  kError,
  kWarning,
  kInformational,
  kVerbose
};

struct Provider {
  std::string name;
  std::uint64_t keywords = 0;
  Level level = Level::kInformational;
  std::string arguments{};                 // "key=value;key2=value2"
  std::vector<std::uint32_t> event_ids{};  // only these; empty: all. Needs CollectTracing5
  // Without `event_ids`: all but these, which come nevertheless before CollectTracing5.
  std::vector<std::uint32_t> unwanted_ids{};
};

constexpr std::uint64_t kDefaultRundown = 0x80020139;

struct SessionConfig {
  std::uint32_t buffer_mb = 256;
  std::uint64_t rundown_keyword =
      kDefaultRundown;   // 0: none. Before CollectTracing4 only none or the default
  bool stacks = true;    // false needs CollectTracing3
  bool netperf = false;  // the old V3 format, for tests of our reader
  std::vector<Provider> providers;
};

// A running EventPipe session: its bytes come from `stream` until it is stopped or the runtime
// ends. Closing the stream makes the runtime drop the session.
struct Session {
  std::uint64_t id = 0;
  UniqueFd stream;
  int command = 0;  // which CollectTracing the runtime took: 1 to 5
};

// Tries the newest CollectTracing first and steps down when the runtime does not know it. What the
// request needs and no known form offers (event id filter, no stacks) is an error, not silently
// dropped.
Result<Session> start_tracing(Endpoint& runtime, const SessionConfig& config,
                              std::chrono::nanoseconds patience = kDefaultPatience);

// Returns when the runtime has answered, which is after the rundown has been written: read the
// stream meanwhile.
Result<> stop_tracing(Endpoint& runtime, std::uint64_t session_id,
                      std::chrono::nanoseconds patience);

Result<> resume_runtime(Endpoint& runtime, std::chrono::nanoseconds patience = kDefaultPatience);

Result<> attach_profiler(Endpoint& runtime, const std::array<std::uint8_t, 16>& clsid,
                         const std::string& path, Bytes client_data,
                         std::chrono::nanoseconds attach_timeout,
                         std::chrono::nanoseconds patience = kDefaultPatience);
// Only while the runtime is suspended at start.
Result<> set_startup_profiler(Endpoint& runtime, const std::array<std::uint8_t, 16>& clsid,
                              const std::string& path,
                              std::chrono::nanoseconds patience = kDefaultPatience);

// The files are in the target's /tmp, whatever its TMPDIR, or where its variable
// DOTNET_PerfMapJitDumpPath says. A runtime suspended at start is left alone: it might crash.
enum class PerfMapKind : std::uint32_t { kAll = 1, kJitDump = 2, kPerfMap = 3 };
Result<> enable_perf_map(Endpoint& runtime, PerfMapKind kind,
                         std::chrono::nanoseconds patience = kDefaultPatience);
Result<> disable_perf_map(Endpoint& runtime, std::chrono::nanoseconds patience = kDefaultPatience);

Result<> apply_startup_hook(Endpoint& runtime, const std::string& assembly_path,
                            std::chrono::nanoseconds patience = kDefaultPatience);
// An empty value removes the variable.
Result<> set_environment_variable(Endpoint& runtime, const std::string& name,
                                  const std::string& value,
                                  std::chrono::nanoseconds patience = kDefaultPatience);

enum class DumpKind : std::uint32_t { kMini = 1, kHeap = 2, kTriage = 3, kFull = 4 };
// The runtime writes the file itself, in its own mount namespace and with its own rights.
Result<> write_dump(Endpoint& runtime, DumpKind kind, const std::string& path,
                    std::chrono::nanoseconds patience);

}  // namespace clrscope::ipc
