#include "ops/probe_progress.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "il/body.h"

namespace clrscope::ops {
namespace {

using std::chrono::nanoseconds;

constexpr std::chrono::milliseconds kLook{5};
constexpr std::chrono::seconds kAnswer{10};
// The agent answers earlier, also where the runtime holds it up. One that does not is asked again.
constexpr std::chrono::seconds kAskAgain{4};

Result<> check(const collect::AgentProbes& probes) {
  if (probes.progress() != wire::ProbeProgress::kFailed) return {};
  return fail(Errc::kUnsupported, "the runtime refused to change methods: 0x{:08x}",
              static_cast<std::uint32_t>(probes.header().hresult.load()))
      .hint("check that DOTNET_ProfAPI_RejitOnAttach is not 0 in the process");
}

Failure gone() { return fail(Errc::kGone, "the process has ended"); }

}  // namespace

Result<WaitEnd> change_methods(const collect::AgentProbes& probes,
                               collect::AgentConnection& connection, nanoseconds patience,
                               const StopCondition& stop) {
  (void)TRY(connection.demand(wire::RequestKind::kProbesApply, 0, Deadline{kAnswer}));
  const Deadline deadline{patience};
  while (probes.progress() != wire::ProbeProgress::kApplied) {
    TRY(check(probes));
    if (deadline.passed())
      return fail(Errc::kTimeout, "the agent has not changed all methods within {}",
                  format_duration(patience))
          .hint("choose fewer methods with --include");
    if (stop.is_met()) return WaitEnd::kStopped;
    if (stop.wait(connection.fd(), kLook)) return gone();
  }
  return WaitEnd::kReached;
}

Result<> take_back_methods(const collect::AgentProbes& probes, collect::AgentConnection& connection,
                           const StopCondition& stop, nanoseconds after_stop) {
  Deadline deadline{kChangeMethods};
  bool stopped = false;
  const auto shorten = [&] {
    if (stopped || !stop.is_met()) return;
    stopped = true;
    deadline = Deadline{std::min(deadline.at(), Deadline{after_stop}.at())};
  };
  const auto late = [&] {
    return fail(Errc::kTimeout, "the agent has not given all methods their own code back")
        .hint("check whether the process is stopped or out of CPU time");
  };
  for (bool asked = false; !asked;) {
    shorten();
    if (deadline.passed()) return late();
    const auto answer =
        connection.demand(wire::RequestKind::kProbesRevert, 0,
                          Deadline{std::min(deadline.at(), Deadline{kAskAgain}.at())});
    if (!answer && answer.error().code != Errc::kTimeout) return fail(answer.error());
    asked = answer.has_value();
  }
  while (probes.progress() != wire::ProbeProgress::kIdle) {
    TRY(check(probes));
    shorten();
    if (deadline.passed()) return late();
    // Whoever asks to stop does so from now on: that alone must not keep us from sleeping.
    const StopCondition awaited{.fds = stopped ? std::span<const int>{} : stop.fds,
                                .deadline = deadline};
    if (awaited.wait(connection.fd(), kLook)) return gone();
  }
  return {};
}

// `reason` comes from the process; an unknown one is "unknown".
analyze::UnmeasuredMethod unmeasured(const collect::ProbedMethod& method) {
  analyze::UnmeasuredMethod out{.method = method.name.empty() ? "unknown" : method.name,
                                .reason = il::name_of(static_cast<il::Reason>(method.reason))};
  if (method.hresult < 0)
    out.code = fmt::format("0x{:08x}", static_cast<std::uint32_t>(method.hresult));
  return out;
}

}  // namespace clrscope::ops
