#include "live/cpu_meter.h"

#include <algorithm>

namespace clrscope::live {
namespace {

constexpr std::chrono::milliseconds kBetween{500};  // the kernel counts in ticks of 10 ms
constexpr std::chrono::seconds kWindow{5};
constexpr std::chrono::seconds kTooOld{30};

}  // namespace

void CpuMeter::add(TraceTime now, std::chrono::nanoseconds used) {
  if (!looks_.empty() && now - looks_.back().time < kBetween) return;
  if (!looks_.empty() && now - looks_.back().time > kTooOld) looks_.clear();
  looks_.push_back({now, used});
  while (looks_.size() > 2 && now - looks_[1].time >= kWindow) looks_.pop_front();
}

std::optional<double> CpuMeter::percent() const {
  if (looks_.size() < 2) return std::nullopt;
  const auto& from = looks_.front();
  const auto& to = looks_.back();
  const std::chrono::duration<double> used{to.used - from.used}, time{to.time - from.time};
  return std::max(0.0, 100 * used.count() / time.count());
}

}  // namespace clrscope::live
