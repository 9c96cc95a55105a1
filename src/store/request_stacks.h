// CPU samples of one request, as the stacks that its waterfall shows.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "store/answers.h"

namespace clrscope::store {

// Adds up samples of the same span and stack, most CPU time first. Element i of all columns belongs
// to sample i; `frames_of` gives the methods of a call path, the innermost first.
template <class Path, class FramesOf>
void add_stacks(std::span<const Path> paths, std::span<const std::uint32_t> spans,
                std::span<const std::uint64_t> weights, const FramesOf& frames_of,
                StoredRequest& request) {
  constexpr std::size_t kMostStacks = 1000;
  struct Sum {
    std::uint32_t span = 0;
    Path path{};
    std::uint64_t samples = 0, cpu = 0;
  };
  std::map<std::pair<std::uint32_t, Path>, std::size_t> index;
  std::vector<Sum> sums;
  for (std::size_t i = 0; i < paths.size(); ++i) {
    const auto [at, is_new] = index.try_emplace({spans[i], paths[i]}, sums.size());
    if (is_new) sums.push_back({.span = spans[i], .path = paths[i]});
    auto& sum = sums[at->second];
    ++sum.samples;
    sum.cpu += weights[i];
  }
  std::stable_sort(sums.begin(), sums.end(),
                   [](const Sum& a, const Sum& b) { return a.cpu > b.cpu; });
  if (sums.size() > kMostStacks) sums.resize(kMostStacks);  // before their frames are made
  for (const auto& sum : sums)
    request.stacks.push_back(
        {sum.span, sum.samples, std::chrono::nanoseconds{sum.cpu}, frames_of(sum.path)});
}

}  // namespace clrscope::store
