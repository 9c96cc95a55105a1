// How often running code is looked at.
#pragma once

#include <string_view>

namespace clrscope {

// CPU samples a second and CPU, unless asked otherwise. A sample costs its CPU about 16 µs, so this
// is 0.8 % of a busy one.
inline constexpr unsigned kUsualRate = 499;

// An event of Universal.Events: the agent takes the "cpu" samples of its process, not the kernel.
inline constexpr std::string_view kSampledByAgent = "sampled_by_agent";

}  // namespace clrscope
