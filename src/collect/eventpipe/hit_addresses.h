// The addresses that the stacks of a recording show, each once. Belongs to one thread.
#pragma once

#include <cstdint>
#include <unordered_set>
#include <utility>
#include <vector>

#include "nettrace/reader.h"

namespace clrscope::collect {

class HitAddresses {
 public:
  void add(const nettrace::Batch& batch, const nettrace::Reader& reader);
  std::vector<std::uint64_t> take_new() { return std::exchange(new_, {}); }

 private:
  static constexpr std::size_t kMost = 200'000;  // so many; later ones are not taken

  std::unordered_set<StackId> stacks_;  // looked at, since the last sequence point
  std::unordered_set<std::uint64_t> known_;
  std::vector<std::uint64_t> new_;
};

}  // namespace clrscope::collect
