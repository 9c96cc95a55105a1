// Which processes are there, and what is known of one.
#include "http/processes.h"

#include "http/route.h"
#include "http/services.h"
#include "ops/environment.h"
#include "site/answer.h"

namespace clrscope::http {
namespace {

Result<HttpResponse> list(Call& call) {
  const auto found = TRY(call.services().processes.list());
  std::vector<ProcessInfo> all;
  for (const auto& process : found) {
    all.push_back(info_of(process));
    all.back().is_default = found.size() == 1;
  }
  return answer_with(all);
}

Result<HttpResponse> show(Call& call) {
  return answer_with(info_of(TRY(call.services().processes.chosen(call))));
}

using Environment = std::vector<std::pair<std::string, std::string>>;

Result<HttpResponse> environment(Call& call) {
  auto& processes = call.services().processes;
  const auto process = TRY(processes.chosen(call));
  Environment all;
  for (const auto& [name, value] : TRY(ops::environment(processes.target(process))))
    all.emplace_back(name, value);
  return answer_with(all);
}

// dotnet-monitor's, and our name.
struct Info {
  std::string version = CLRSCOPE_VERSION, runtime = "native", port_mode{}, port_name{};
  std::vector<std::string> capabilities{};
  std::string product = "clrscope";
};
const Shape& shape_of(const Info*) {
  using I = Info;
  static const auto shape = describe<I>(
      "Info", "This controller",
      {member<&I::version>("version", "version of clrscope"),
       member<&I::runtime>("runtimeVersion", "always native"),
       member<&I::port_mode>("diagnosticPortMode", "Connect or Listen"),
       member_or_null<&I::port_name>("diagnosticPortName", "path of the listening port"),
       member<&I::capabilities>("capabilities", "always empty"),
       member<&I::product>("product", "always clrscope")});
  return shape;
}

Result<HttpResponse> info(Call& call) {
  const auto& port = call.services().setting.diagnostic_port;
  return answer_with(Info{.port_mode = port.empty() ? "Connect" : "Listen", .port_name = port});
}

constexpr Parameter kSelector[] = {
    {.name = "pid", .type = "integer", .help = "the process"},
    {.name = "uid", .type = "string", .help = "or its runtime's GUID"},
    {.name = "name", .type = "string", .help = "or its name"},
};

constexpr Route kRoutes[] = {
    {.method = "GET",
     .path = "/processes",
     .scope = Scope::kRead,
     .summary = "The .NET processes that this controller may access",
     .types = kJson,
     .answer = list,
     .json = value_shape<std::vector<ProcessInfo>>},
    {.method = "GET",
     .path = "/process",
     .scope = Scope::kRead,
     .summary = "One process",
     .types = kJson,
     .parameters = kSelector,
     .answer = show,
     .json = value_shape<ProcessInfo>,
     .statuses = "400"},
    {.method = "GET",
     .path = "/env",
     .scope = Scope::kMemory,
     .summary = "The environment variables of a process",
     .types = kJson,
     .parameters = kSelector,
     .answer = environment,
     .json = value_shape<Environment>,
     .statuses = "400"},
    {.method = "GET",
     .path = "/info",
     .scope = Scope::kRead,
     .summary = "Version of this controller, and how it reaches processes",
     .types = kJson,
     .answer = info,
     .json = value_shape<Info>,
     .runs = Runs::kAtOnce,
     .load = Load::kLight},
};

}  // namespace

extern constexpr Routes processes_routes{kRoutes};

}  // namespace clrscope::http
