#include "fleet/grpc_entry.h"

namespace clrscope::fleet {

Entry enter(const grpc::ServerContextBase& context, const Access& access, Scope scope,
            std::string_view what) {
  const auto& fields = context.client_metadata();
  const auto found = fields.find("authorization");
  const std::string_view word = found == fields.end()
                                    ? std::string_view{}
                                    : std::string_view{found->second.data(), found->second.size()};
  Entry entry;
  switch (access.check(word, scope, what, context.peer(), entry.caller)) {
    case Access::Answer::kYes:
      if (entry.caller.tenant == nullptr) {
        access.audit.note(what, entry.caller.name, context.peer(), "refused", "*");
        entry.status = {grpc::StatusCode::PERMISSION_DENIED, "the token is of no tenant"};
      }
      break;
    case Access::Answer::kNoToken:
      entry.status = {grpc::StatusCode::UNAUTHENTICATED,
                      "send the metadata authorization: Bearer TOKEN with a valid token"};
      break;
    case Access::Answer::kWrongScope:
      entry.status = {grpc::StatusCode::PERMISSION_DENIED,
                      "the token does not have the required scope"};
      break;
    case Access::Answer::kNoTenant:
      entry.status = {grpc::StatusCode::PERMISSION_DENIED,
                      "the tenant of the token does not exist"};
      break;
  }
  return entry;
}

grpc::Status status_of(const Error& error) {
  const auto code = error.code == Errc::kUsage      ? grpc::StatusCode::INVALID_ARGUMENT
                    : error.code == Errc::kNotFound ? grpc::StatusCode::NOT_FOUND
                    : error.code == Errc::kTooLarge ? grpc::StatusCode::RESOURCE_EXHAUSTED
                    : error.code == Errc::kCorrupt  ? grpc::StatusCode::DATA_LOSS
                    : error.code == Errc::kGone     ? grpc::StatusCode::CANCELLED
                                                    : grpc::StatusCode::UNAVAILABLE;
  return {code, error.what};
}

}  // namespace clrscope::fleet
