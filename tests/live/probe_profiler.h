// The class id of the test profiler, in the order of the wire.
#pragma once

#include <array>
#include <cstdint>

namespace clrscope::live {

// {C1A5C09E-11FE-4B0E-9D3A-5E1F00D0CAFE}
constexpr std::array<std::uint8_t, 16> kProbeClass{0x9e, 0xc0, 0xa5, 0xc1, 0xfe, 0x11, 0x0e, 0x4b,
                                                   0x9d, 0x3a, 0x5e, 0x1f, 0x00, 0xd0, 0xca, 0xfe};

}  // namespace clrscope::live
