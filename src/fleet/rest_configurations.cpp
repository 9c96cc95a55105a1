#include "fleet/rest_configurations.h"

namespace clrscope::fleet {

const Shape& shape_of(const ConfigurationsAnswer*) {
  using A = ConfigurationsAnswer;
  static const auto shape = describe<A>("FleetConfigurations", "how services shall be profiled",
                                        {member<&A::services>("services", "by name")});
  return shape;
}

const Shape& shape_of(const ConfigurationBody*) {
  using B = ConfigurationBody;
  static const auto shape = describe<B>(
      "ConfigurationChange", "a new version of the configuration of a service",
      {member<&B::service>("service", "name"),
       member<&B::based_on>("basedOn", "the newest version that was seen; 0: there is none"),
       member<&B::roll_back_to>(
           "rollBackTo", "take the settings of this version, 0: of the start; instead of include"),
       member<&B::include>("include", "patterns of methods to time; required"),
       member<&B::exclude>("exclude", "patterns of methods not to time"),
       member<&B::sample>("sample", "share of requests with spans, 0 to 1; absent: by the budget"),
       member<&B::budget_percent>("budgetPercent",
                                  "CPU time of the process that it may cost (default: 1)"),
       member<&B::percent>("percent", "of the hosts that get it (default: 100)"),
       member<&B::comment>("comment", "why")});
  return shape;
}

Result<> configurations(const RestCall& call) {
  auto& known = call.caller.tenant->configurations();
  return call.body.value(ConfigurationsAnswer{
      .services = TRY(known.list(call.request.parameter("service").value_or("")))});
}

Result<> change_configuration(const RestCall& call) {
  const auto wanted = TRY(read_change(call.request.body));
  const auto made = TRY(call.caller.tenant->configurations().change(wanted, call.caller.name));
  call.audit.note(
      fmt::format("configuration of {}: version {}, {} % of the hosts{}{}", wanted.service,
                  made.version, made.percent, made.comment.empty() ? "" : ": ", made.comment),
      call.caller.name, call.request.peer.address, "done", call.caller.tenant->name());
  return call.body.value(made);
}

Result<> add_configurations(Tenant& tenant, std::vector<store::HostSummary>& hosts) {
  std::map<std::string, store::AgentState> agents;
  for (auto& agent : TRY(tenant.store().agents()))
    agents[agent.instance + ' ' + agent.host + ' ' + agent.service] = std::move(agent);
  for (auto& host : hosts) {
    const auto found = agents.find(host.instance + ' ' + host.host + ' ' + host.service);
    if (found != agents.end()) {
      host.configuration = found->second.configuration;
      host.configuration_trouble = found->second.trouble;
    }
    host.wanted_configuration =
        TRY(tenant.configurations().for_host(host.service, host.host)).version;
  }
  return {};
}

}  // namespace clrscope::fleet
