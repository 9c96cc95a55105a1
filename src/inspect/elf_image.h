// What a mapped ELF image exports, read from the target's memory alone: also in a core, when the
// file is gone, or when it lies in another root.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "inspect/memory.h"
#include "inspect/target.h"

namespace clrscope::inspect {

// The address of a defined dynamic symbol of the image that is mapped at `base`. By the hash table
// that the loader uses; nothing when there is none of that name or the image is damaged.
std::optional<std::uint64_t> find_dynamic_symbol(Memory& memory, std::uint64_t base,
                                                 std::string_view name);

// A mapped file that may be an ELF image, by its first mapping.
struct MappedImage {
  std::uint64_t base = 0;
  std::string path{};
};
// Those that may hold a .NET runtime, the likeliest first: libcoreclr.so, then executables (of a
// single-file app, or NativeAOT).
std::vector<MappedImage> runtime_candidates(const std::vector<Mapping>& mappings);

}  // namespace clrscope::inspect
