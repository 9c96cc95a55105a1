// DNS lookups that take long.
#include "doctor/calls.h"

namespace clrscope::doctor {
namespace {

constexpr Parameter kParameters[] = {
    {"meanMs", 100, "mean duration of the lookups of one name"},
    {"lookups", 2, "number of lookups of one name, at least"},
};
constexpr SlowCallWords kWords{
    .title = "Slow DNS lookups",
    .one = "lookup",
    .preposition = "of",
    .advice =
        "keep connections open (one HttpClient for all requests) so that fewer names are "
        "looked up, and check the servers and the search list in /etc/resolv.conf",
};

std::vector<Report> examine(const Evidence& evidence, const Parameters& parameters) {
  auto reports = slow_calls(evidence, evidence.calls->dns, kWords, parameters["meanMs"],
                            parameters["lookups"]);
  for (auto& report : reports) report.next.push_back({"report", {{"report", "dns"}}});
  return reports;
}

}  // namespace

extern const Finding slow_dns_finding{
    .id = "CS1703",
    .title = "slow DNS lookups",
    .description = "DNS lookups that take long, by name and caller.",
    .needs = {.events = true, .calls = true, .live = true, .least = std::chrono::seconds{2}},
    .price = "up to 0.15 % of the CPU time: a session that ends when it has recorded enough",
    .rights = "the diagnostic port",
    .parameters = kParameters,
    .examine = examine,
};

}  // namespace clrscope::doctor
