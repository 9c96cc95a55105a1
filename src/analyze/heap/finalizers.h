// Objects that wait for their finalizers to run, at one look at a heap.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "model/heap.h"

namespace clrscope::analyze {

struct FinalizerLook {
  std::chrono::nanoseconds at{};
  std::uint64_t due = 0;
  std::vector<std::pair<std::string, std::uint64_t>> types{};  // some, most first
};

// Nothing: the queue could not be read.
std::optional<FinalizerLook> look_at_finalizers(const HeapSnapshot& heap,
                                                std::chrono::nanoseconds at);

}  // namespace clrscope::analyze
