#include <algorithm>
#include <limits>

#include "ipc/commands.h"
#include "ipc/exchange.h"

namespace clrscope::ipc {
namespace {

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
  TRY(demand(runtime, kStartupProfiler, payload.bytes(), Deadline{patience}));
  return {};
}

}  // namespace clrscope::ipc
