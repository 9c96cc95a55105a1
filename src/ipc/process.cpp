#include "base/target_root.h"
#include "ipc/commands.h"
#include "ipc/exchange.h"
#include "ipc/peer.h"
#include "ipc/refusal.h"

namespace clrscope::ipc {
namespace {

// A hook that cannot be loaded ends the target with an unhandled exception: ask only for what is
// there.
Result<> check_hook(int connection, const std::string& path) {
  if (!path.starts_with('/'))
    return fail(Errc::kUsage, "the startup hook {} must be an absolute path", path);
  if (const auto peer = peer_of(connection); peer && peer->pid != 0)
    if (const auto root = TargetRoot::open(peer->pid); root && root->open_file(path)) return {};
  return fail(Errc::kNotFound, "the target does not have the startup hook {}", path)
      .hint(
          "the path must exist in the target's own file system; a missing hook would crash the "
          "process");
}

// Asks for a profiler in less words than that takes: a runtime refuses it in any case, with one
// code while it starts and another when it runs. (No words at all would crash it.)
Result<bool> still_starts(Endpoint& runtime, const Deadline& deadline) {
  constexpr std::uint32_t kNotYetAvailable = 0x8013135b;
  ByteWriter too_little;
  too_little.write(std::uint32_t{0});
  const auto reply = TRY(exchange(runtime, kAttachProfiler, too_little.bytes(), deadline));
  return reply.refusal && reply.refusal->code == kNotYetAvailable;
}

}  // namespace

Result<ProcessInfo> process_info(Endpoint& runtime, std::chrono::nanoseconds patience) {
  struct Form {
    const Command& command;
    Result<ProcessInfo> (*decode)(Bytes);
  };
  static constexpr Form kForms[] = {{kProcessInfo3, decode_process_info3},
                                    {kProcessInfo2, decode_process_info2},
                                    {kProcessInfo, decode_process_info}};
  const Deadline deadline{patience};
  for (const auto& form : kForms) {
    const auto reply = TRY(exchange(runtime, form.command, {}, deadline));
    if (reply.unknown_command() && &form != &kForms[2]) continue;
    if (reply.refusal) return fail(error_of(form.command, runtime.name(), *reply.refusal));
    return form.decode(reply.payload);
  }
  return fail(Errc::kUnsupported, "{} does not support any version of ProcessInfo", runtime.name());
}

Result<std::map<std::string, std::string>> environment(Endpoint& runtime,
                                                       std::chrono::nanoseconds patience) {
  const Deadline deadline{patience};
  const auto reply = TRY(demand(runtime, kProcessEnvironment, {}, deadline));
  const auto size = TRY(decode_environment_size(reply.payload));
  return decode_environment(TRY(read_continuation(reply, size, deadline)));
}

Result<> set_environment_variable(Endpoint& runtime, const std::string& name,
                                  const std::string& value, std::chrono::nanoseconds patience) {
  if (name.empty() || name.find('=') != std::string::npos)
    return fail(Errc::kUsage, "\"{}\" is not a name of an environment variable", name);
  ByteWriter payload;
  write_string(payload, name);
  write_string(payload, value);
  TRY(demand(runtime, kSetEnvironmentVariable, payload.bytes(), Deadline{patience}));
  return {};
}

Result<> resume_runtime(Endpoint& runtime, std::chrono::nanoseconds patience) {
  TRY(demand(runtime, kResumeRuntime, {}, Deadline{patience}));
  return {};
}

Result<> enable_perf_map(Endpoint& runtime, PerfMapKind kind, std::chrono::nanoseconds patience) {
  const Deadline deadline{patience};
  if (TRY(still_starts(runtime, deadline)))  // .NET 8 and 9 would crash
    return fail(Errc::kUnsupported, "{}: the runtime is still starting", runtime.name())
        .hint("resume it first, or start it with DOTNET_PerfMapEnabled={}",
              static_cast<std::uint32_t>(kind));
  ByteWriter payload;
  payload.write(static_cast<std::uint32_t>(kind));
  TRY(demand(runtime, kEnablePerfMap, payload.bytes(), deadline));
  return {};
}

Result<> disable_perf_map(Endpoint& runtime, std::chrono::nanoseconds patience) {
  TRY(demand(runtime, kDisablePerfMap, {}, Deadline{patience}));
  return {};
}

Result<> apply_startup_hook(Endpoint& runtime, const std::string& assembly_path,
                            std::chrono::nanoseconds patience) {
  const Deadline deadline{patience};
  auto connection = TRY(runtime.connect(deadline));
  TRY(check_hook(connection.get(), assembly_path));
  ByteWriter payload;
  write_string(payload, assembly_path);
  const auto reply = TRY(
      exchange_over(std::move(connection), runtime, kApplyStartupHook, payload.bytes(), deadline));
  if (reply.refusal) return fail(error_of(kApplyStartupHook, runtime.name(), *reply.refusal));
  return {};
}

}  // namespace clrscope::ipc
