#include "ipc/commands.h"
#include "ipc/exchange.h"
#include "ipc/refusal.h"

namespace clrscope::ipc {

Result<> write_dump(Endpoint& runtime, DumpKind kind, const std::string& path,
                    std::chrono::nanoseconds patience) {
  if (!path.starts_with('/'))
    return fail(Errc::kUsage, "the dump file {} must be an absolute path", path)
        .hint("a relative path would be resolved in the target's working folder");
  ByteWriter payload;
  write_string(payload, path);
  payload.write(static_cast<std::uint32_t>(kind));
  payload.write(std::uint32_t{0});  // flags: no log, no crash report

  const Deadline deadline{patience};
  // All take the same payload; the third answers in words when it fails.
  for (const auto* command : {&kCreateCoreDump3, &kCreateCoreDump2, &kCreateCoreDump}) {
    const auto reply = TRY(exchange(runtime, *command, payload.bytes(), deadline));
    if (!reply.refusal) return {};
    if (reply.unknown_command() && command != &kCreateCoreDump) continue;
    return fail(error_of(*command, runtime.name(), *reply.refusal));
  }
  return {};
}

}  // namespace clrscope::ipc
