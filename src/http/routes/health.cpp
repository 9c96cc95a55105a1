// Whether the controller lives and works: for supervisors, who have no key.
#include <sys/stat.h>
#include <unistd.h>

#include "archive/state_folder.h"
#include "http/route.h"
#include "http/services.h"
#include "http/setting.h"
#include "ops/target.h"
#include "site/answer.h"

namespace clrscope::http {
namespace {

Result<HttpResponse> live(Call&) { return text_answer("live\n"); }

// What stands in the way, a line each; no values that only the administrator should see.
Result<HttpResponse> ready(Call& call) {
  const auto& setting = call.services().setting;
  std::string troubles;
  if (::access(archive::state_folder_path(setting.folder).c_str(), W_OK | X_OK) != 0)
    troubles += "the folder for keys and recordings cannot be written\n";
  if (!setting.diagnostic_port.empty()) {
    const auto port = ops::parse_port(setting.diagnostic_port);
    struct stat there {};
    if (!port || ::stat(port->path.c_str(), &there) != 0 || !S_ISSOCK(there.st_mode))
      troubles += "the diagnostic port is gone\n";
  }
  if (troubles.empty()) return text_answer("ready\n");
  return text_answer("not ready\n" + troubles, 503);
}

constexpr Route kRoutes[] = {
    {.method = "GET",
     .path = "/health/live",
     .scope = Scope::kOpen,
     .summary = "Answers while the controller lives",
     .types = kText,
     .answer = live,
     .runs = Runs::kAtOnce,
     .load = Load::kHealth},
    {.method = "GET",
     .path = "/health/ready",
     .scope = Scope::kOpen,
     .summary = "Answers 200 when the controller can work, else 503 and why",
     .types = kText,
     .answer = ready,
     .runs = Runs::kAtOnce,
     .load = Load::kHealth,
     .statuses = "503"},
};

}  // namespace

extern constexpr Routes health_routes{kRoutes};

}  // namespace clrscope::http
