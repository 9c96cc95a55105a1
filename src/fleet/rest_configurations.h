// The routes of configurations: /fleet/configurations, and what hosts have of them.
#pragma once

#include "fleet/configuration.h"
#include "fleet/rest_routes.h"

namespace clrscope::fleet {

struct ConfigurationsAnswer {
  std::vector<ServiceConfiguration> services{};
};
const Shape& shape_of(const ConfigurationsAnswer*);

// What is sent to change one; described here, read by read_change().
struct ConfigurationBody {
  std::string service{};
  std::uint64_t based_on = 0;
  std::optional<std::uint64_t> roll_back_to{};
  std::optional<std::vector<std::string>> include{}, exclude{};
  std::optional<double> sample{}, budget_percent{};
  std::optional<std::uint32_t> percent{};
  std::optional<std::string> comment{};
};
const Shape& shape_of(const ConfigurationBody*);

Result<> configurations(const RestCall& call);
Result<> change_configuration(const RestCall& call);
// Which version each host has and shall have.
Result<> add_configurations(Tenant& tenant, std::vector<store::HostSummary>& hosts);

}  // namespace clrscope::fleet
