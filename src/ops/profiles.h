// Named sets of providers, meaning what they mean in dotnet-trace; and the names of the runtime's
// own keywords.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace clrscope::ops {

struct ProfileProvider {
  std::string_view name;
  std::uint64_t keywords;
  unsigned level;  // 4 informational, 5 verbose
  std::string_view arguments{};
};

// What a profile wants of the kernel beside the runtime's events.
enum class KernelWish { kNothing, kCpuSamples, kThreadTime };

struct TraceProfile {
  std::string_view name;
  std::string_view summary;
  std::span<const ProfileProvider> providers;  // empty: does not come from the runtime
  std::uint64_t rundown_keyword;
  KernelWish kernel = KernelWish::kNothing;
};

std::span<const TraceProfile> trace_profiles();
Result<const TraceProfile*> find_trace_profile(std::string_view name);

struct NamedKeyword {
  std::string_view name;
  std::uint64_t bits;
};
std::span<const NamedKeyword> clr_keywords();

}  // namespace clrscope::ops
