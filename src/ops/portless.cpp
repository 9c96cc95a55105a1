#include "ops/portless.h"

namespace clrscope::ops {

std::optional<ipc::DotnetProcess> process_without_port(const TargetRequest& request) {
  if (!request.pid) return std::nullopt;
  auto process = ipc::find_process(*request.pid);
  if (!process || process->unreachable.code != Errc::kUnsupported || process->reachable())
    return std::nullopt;
  return *std::move(process);
}

}  // namespace clrscope::ops
