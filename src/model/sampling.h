// How often running code is looked at.
#pragma once

namespace clrscope {

// CPU samples a second and CPU, unless asked otherwise. A sample costs its CPU about 16 µs, so this
// is 0.8 % of a busy one.
inline constexpr unsigned kUsualRate = 499;

}  // namespace clrscope
