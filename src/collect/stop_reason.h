// What a recording was stopped by.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace clrscope::collect {

enum class StopReason : std::uint8_t { kDuration, kSize, kSignal, kEvent, kTargetEnded };
std::span<const std::string_view> names_of(StopReason);  // "duration", …

}  // namespace clrscope::collect
