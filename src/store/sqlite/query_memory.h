// What a query collects, in bytes, about: durations of requests and the like.
#pragma once

#include "store/store.h"

namespace clrscope::store {

class QueryMemory {
 public:
  explicit QueryMemory(const QueryLimits& limits) : most_(limits.memory) {}

  void give_back(std::uint64_t bytes) { used_ -= bytes; }
  Result<> take(std::uint64_t bytes) {
    used_ += bytes;
    if (used_ <= most_) return {};
    return fail(Errc::kTooLarge, "the query needs more memory than {} bytes", most_)
        .hint(
            "choose a shorter time, or start the fleet server with a larger "
            "--query-memory");
  }

 private:
  const std::uint64_t most_;
  std::uint64_t used_ = 0;
};

}  // namespace clrscope::store
