#include "analyze/samples.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "analyze/process_names.h"

namespace clrscope::analyze {
namespace {

// Beginnings of the names of methods that wait; what they call is native, so they stand on top.
constexpr std::array<std::string_view, 14> kWaits{
    "Interop+Sys.",
    "System.Threading.Condition.",
    "System.Threading.Lock.TryEnterSlow",
    "System.Threading.LowLevelLifoSemaphore.",
    "System.Threading.LowLevelMonitor.",
    "System.Threading.LowLevelSpinWaiter.Wait",
    "System.Threading.ManualResetEventSlim.Wait",
    "System.Threading.Monitor.",
    "System.Threading.SemaphoreSlim.Wait",
    "System.Threading.SpinWait.SpinOnceCore",
    "System.Threading.Thread.Join",
    "System.Threading.Thread.Sleep",
    "System.Threading.Thread.<Sleep>",
    "System.Threading.WaitHandle.",
};

}  // namespace

void SamplerTrust::on_event(const Event& event, Provider provider) {
  if (const auto version = runtime_version(event, provider))
    if (version->starts_with("9.")) doubted_.insert(event.process);
}

ThreadState state_by_top(const Frame& top) {
  if (top.kind == FrameKind::kUnknown) return ThreadState::kWaiting;
  const bool waits = std::any_of(kWaits.begin(), kWaits.end(), [&](std::string_view begin) {
    return top.method.starts_with(begin);
  });
  return waits ? ThreadState::kWaiting : ThreadState::kRunning;
}

}  // namespace clrscope::analyze
