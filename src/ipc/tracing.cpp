#include <algorithm>
#include <array>

#include "ipc/commands.h"
#include "ipc/exchange.h"
#include "ipc/refusal.h"
#include "ipc/session_limit.h"

namespace clrscope::ipc {
namespace {

constexpr std::uint32_t kPlainFailure = 0x80004005;  // E_FAIL: all that a full runtime says
constexpr std::string_view kSessionLimit = "end another session: a runtime supports at most 64";

constexpr std::array kForms{&kCollectTracing, &kCollectTracing2, &kCollectTracing3,
                            &kCollectTracing4, &kCollectTracing5};

Result<> check_meaning(const SessionConfig& config) {
  if (config.providers.empty()) return fail(Errc::kUsage, "a session needs at least one provider");
  if (std::ranges::any_of(config.providers, [](const auto& p) { return p.name.empty(); }))
    return fail(Errc::kUsage, "a provider has no name");
  if (config.buffer_mb == 0) return fail(Errc::kUsage, "a session needs a buffer of 1 MB or more");
  return {};
}

}  // namespace

Result<Session> start_tracing(Endpoint& runtime, const SessionConfig& config,
                              std::chrono::nanoseconds patience) {
  TRY(check_meaning(config));
  const Deadline deadline{patience};
  for (auto form = static_cast<int>(kForms.size()); form >= 1; --form) {
    const auto& command = *kForms[static_cast<std::size_t>(form - 1)];
    const auto request = TRY(encode_collect_tracing(form, config));
    auto reply = TRY(exchange(runtime, command, request, deadline));
    if (reply.unknown_command() && form > 1) continue;
    if (reply.refusal && reply.refusal->code == kPlainFailure)
      return fail(Errc::kSystem, "{} refused another session", runtime.name())
          .hint("{}", kSessionLimit);
    if (reply.refusal) return fail(error_of(command, runtime.name(), *reply.refusal));
    const auto id = TRY(decode_session_id(reply.payload));
    return Session{.id = id, .stream = std::move(reply.connection), .command = form};
  }
  return fail(Errc::kUnsupported, "{} does not support any version of CollectTracing",
              runtime.name());
}

bool is_session_limit(const Error& error) {
  return error.code == Errc::kSystem && error.hint == kSessionLimit;
}

Result<> stop_tracing(Endpoint& runtime, std::uint64_t session_id,
                      std::chrono::nanoseconds patience) {
  ByteWriter payload;
  payload.write(session_id);
  TRY(demand(runtime, kStopTracing, payload.bytes(), Deadline{patience}));
  return {};
}

}  // namespace clrscope::ipc
