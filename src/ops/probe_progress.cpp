#include "ops/probe_progress.h"

#include <poll.h>

namespace clrscope::ops {
namespace {

constexpr std::chrono::seconds kApply{120};
constexpr int kLookMs = 5;

}  // namespace

Result<> wait_for_probes(const collect::AgentProbes& probes,
                         const collect::AgentConnection& connection, wire::ProbeProgress wanted) {
  const Deadline deadline{kApply};
  for (;;) {
    const auto progress = probes.progress();
    if (progress == wanted) return {};
    if (progress == wire::ProbeProgress::kFailed)
      return fail(Errc::kUnsupported, "the runtime refused to change methods: 0x{:08x}",
                  static_cast<std::uint32_t>(probes.header().hresult.load()))
          .hint("check that DOTNET_ProfAPI_RejitOnAttach is not 0 in the process");
    if (deadline.passed())
      return fail(Errc::kTimeout, "the agent has not changed all methods within {} s",
                  kApply.count())
          .hint("choose fewer methods with --include");
    pollfd polled{connection.fd(), POLLIN, 0};
    if (::poll(&polled, 1, kLookMs) > 0) return fail(Errc::kGone, "the process has ended");
  }
}

}  // namespace clrscope::ops
