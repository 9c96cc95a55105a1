#include "ops/environment.h"

#include "ipc/commands.h"

namespace clrscope::ops {

Result<std::map<std::string, std::string>> environment(const TargetRequest& request) {
  const auto target = TRY(find_target(request, std::chrono::seconds{1}, -1));
  return ipc::environment(*target.endpoint);
}

}  // namespace clrscope::ops
