#include "fleet/agents_service.h"

#include <fmt/format.h>

#include "base/printable.h"

namespace clrscope::fleet {
namespace {

constexpr std::size_t kLongestName = 255;
constexpr std::size_t kLongestTrouble = 500;

std::string hex(std::string_view bytes) {
  std::string text;
  for (const char byte : bytes) text += fmt::format("{:02x}", static_cast<std::uint8_t>(byte));
  return text;
}

}  // namespace

grpc::Status AgentsService::Configuration(grpc::ServerContext* context,
                                          const v1::ConfigurationRequest* request,
                                          v1::ConfigurationAnswer* answer) {
  // Asked by every host every few seconds: only refusals are worth a line of the log.
  const auto entry = enter(*context, access_, Scope::kIngest, "");
  if (!entry.ok()) return entry.status;
  if (request->host().empty() || request->host().size() > kLongestName ||
      request->service().empty() || request->service().size() > kLongestName ||
      request->instance().size() < 8 || request->instance().size() > 16)
    return {grpc::StatusCode::INVALID_ARGUMENT, "host, service and instance are required"};
  auto& configurations = entry.tenant().configurations();
  if (!entry.tenant().full())
    configurations.note({.service = request->service(),
                         .host = request->host(),
                         .instance = hex(request->instance()),
                         .configuration = request->applied_version(),
                         .trouble = cut_utf8(request->trouble(), kLongestTrouble),
                         .time = wall_now()});
  const auto wanted = configurations.for_host(request->service(), request->host());
  if (!wanted) return status_of(wanted.error());
  answer->set_version(wanted->version);
  for (const auto& one : wanted->include) answer->add_include(one);
  for (const auto& one : wanted->exclude) answer->add_exclude(one);
  if (wanted->sample) answer->set_sample(*wanted->sample);
  answer->set_budget_percent(wanted->budget_percent);
  return grpc::Status::OK;
}

}  // namespace clrscope::fleet
