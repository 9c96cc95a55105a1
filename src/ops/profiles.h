// Named sets of providers, with the same meaning as in dotnet-trace; and the names of the runtime's
// own keywords.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/shape.h"

namespace clrscope::ops {

struct ProfileProvider {
  std::string_view name;
  std::uint64_t keywords;
  unsigned level;  // 4 informational, 5 verbose
  std::string_view arguments{};
};

// What a profile wants of the kernel beside the runtime's events.
enum class KernelData { kNothing, kCpuSamples, kThreadTime };
std::span<const std::string_view> names_of(KernelData);  // "nothing", "cpuSamples", "threadTime"

struct TraceProfile {
  std::string_view name;
  std::string_view summary;
  std::span<const ProfileProvider> providers;  // empty: does not come from the runtime
  std::uint64_t rundown_keyword;
  KernelData kernel = KernelData::kNothing;
};

std::span<const TraceProfile> trace_profiles();
Result<const TraceProfile*> find_trace_profile(std::string_view name);

struct NamedKeyword {
  std::string_view name;
  std::uint64_t bits;
};
std::span<const NamedKeyword> clr_keywords();

// What list-profiles and the controller tell of them.
struct ProfileProviderAnswer {
  std::string_view name{};
  std::string keywords{};
  unsigned level = 0;
  std::optional<std::string> arguments{};
};
const Shape& shape_of(const ProfileProviderAnswer*);
struct ProfileAnswer {
  std::string_view name{};
  std::string_view summary{};
  std::vector<ProfileProviderAnswer> providers{};
  std::string rundown_keyword{};
  KernelData kernel = KernelData::kNothing;
};
const Shape& shape_of(const ProfileAnswer*);
std::vector<ProfileAnswer> profile_answers();

// Providers that people often choose, the runtime's own with the names of its keywords.
struct KeywordAnswer {
  std::string_view name{};
  std::string value{};
};
const Shape& shape_of(const KeywordAnswer*);
struct ProviderAnswer {
  std::string_view name{};
  std::string_view summary{};
  std::vector<KeywordAnswer> keywords{};
};
const Shape& shape_of(const ProviderAnswer*);
std::vector<ProviderAnswer> provider_answers();

}  // namespace clrscope::ops
