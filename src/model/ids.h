// Ids that do not mix: an enum class costs nothing, compares and hashes.
#pragma once

#include <cstdint>

namespace clrscope {

enum class ProcessId : std::int32_t {};
enum class ThreadId : std::uint64_t {
};  // the kernel's tid, as seen from the process's own namespace
enum class StackId : std::uint32_t { kNone = 0 };
enum class StringId : std::uint32_t { kEmpty = 0 };

}  // namespace clrscope
