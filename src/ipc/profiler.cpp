#include <poll.h>

#include <algorithm>
#include <limits>

#include "ipc/commands.h"
#include "ipc/exchange.h"
#include "ipc/refusal.h"

namespace clrscope::ipc {
namespace {

constexpr std::uint32_t kInvalidArgument = 0x80070057;
constexpr std::chrono::seconds kTimeToSuspend{2};
constexpr int kRetryMs = 2;

Result<> check_library(const std::string& path) {
  if (path.starts_with('/')) return {};
  return fail(Errc::kUsage, "the profiler library {} must be an absolute path", path);
}

std::uint32_t milliseconds(std::chrono::nanoseconds duration) {
  const auto count = std::chrono::ceil<std::chrono::milliseconds>(duration).count();
  return static_cast<std::uint32_t>(
      std::clamp<std::int64_t>(count, 0, std::numeric_limits<std::uint32_t>::max()));
}

}  // namespace

Result<> attach_profiler(Endpoint& runtime, const std::array<std::uint8_t, 16>& clsid,
                         const std::string& path, Bytes client_data,
                         std::chrono::nanoseconds attach_timeout,
                         std::chrono::nanoseconds patience) {
  TRY(check_library(path));
  ByteWriter payload;
  payload.write(milliseconds(attach_timeout));
  payload.put(clsid);
  write_string(payload, path);
  payload.write(static_cast<std::uint32_t>(client_data.size()));
  payload.put(client_data);
  TRY(demand(runtime, kAttachProfiler, payload.bytes(), Deadline{patience}));
  return {};
}

Result<> set_startup_profiler(Endpoint& runtime, const std::array<std::uint8_t, 16>& clsid,
                              const std::string& path, std::chrono::nanoseconds patience) {
  TRY(check_library(path));
  ByteWriter payload;
  payload.put(clsid);
  write_string(payload, path);
  const Deadline deadline{patience};
  // A runtime answers a little earlier than it suspends itself, and until then it refuses with the
  // same code as after it was resumed.
  const Deadline suspended{std::min<std::chrono::nanoseconds>(patience / 2, kTimeToSuspend)};
  for (;;) {
    const auto reply = TRY(exchange(runtime, kStartupProfiler, payload.bytes(), deadline));
    if (!reply.refusal) return {};
    auto error = error_of(kStartupProfiler, runtime.name(), *reply.refusal);
    if (reply.refusal->code != kInvalidArgument) return fail(std::move(error));
    error.hint = "this is possible only while the runtime is suspended at start";
    if (suspended.passed()) return fail(std::move(error));
    ::poll(nullptr, 0, kRetryMs);
  }
}

}  // namespace clrscope::ipc
