// What the spans of a chunk sum up to by route and call path: a flame graph of all requests adds
// these instead of reading every span. The numbers are the same.
#pragma once

#include <string>
#include <vector>

#include "store/sqlite/chunk.h"

namespace clrscope::store {

// Requests with spans of one route, and of one source if the chunk has few of them.
struct SumGroup {
  std::uint32_t source = 0;  // 0: any
  std::uint32_t method = 0, route = 0;
  std::uint64_t requests = 0;
  std::uint64_t shortest = 0, longest = 0;  // duration of a request
  Bytes paths{};                            // PathSums reads them

  static constexpr std::uint32_t kAnySource = 0;
};

// Of so many `counts` of `stacks` per request: spans, or CPU samples. Empty if it would be hardly
// smaller than these.
std::string make_sums(const ChunkHead& head, const std::vector<std::uint32_t>& counts,
                      const ChunkStacks& stacks, int zstd_level);

class ChunkSums {
 public:
  static Result<ChunkSums> read(Bytes blob);
  ChunkSums(ChunkSums&&) = default;
  const std::vector<SumGroup>& groups() const { return groups_; }  // live as long as this

 private:
  ChunkSums() = default;
  std::vector<std::uint8_t> plain_;
  std::vector<SumGroup> groups_;
};

}  // namespace clrscope::store
