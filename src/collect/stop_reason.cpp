#include "collect/stop_reason.h"

namespace clrscope::collect {

std::span<const std::string_view> names_of(StopReason) {
  static constexpr std::string_view kNames[] = {"duration", "size", "signal", "event",
                                                "target ended"};
  return kNames;
}

}  // namespace clrscope::collect
