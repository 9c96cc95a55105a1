// CPU samples of one request, as the stacks that its waterfall shows.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <span>
#include <utility>

#include "store/answers.h"

namespace clrscope::store {

// Adds up samples of the same span and stack, most CPU time first. Element i of all columns belongs
// to sample i; `frames_of` gives the methods of a call path, the innermost first.
template <class Path, class FramesOf>
void add_stacks(std::span<const Path> paths, std::span<const std::uint32_t> spans,
                std::span<const std::uint64_t> weights, const FramesOf& frames_of,
                StoredRequest& request) {
  constexpr std::size_t kMostStacks = 1000;
  std::map<std::pair<std::uint32_t, Path>, std::size_t> index;
  for (std::size_t i = 0; i < paths.size(); ++i) {
    const auto [at, is_new] = index.try_emplace({spans[i], paths[i]}, request.stacks.size());
    if (is_new)
      request.stacks.push_back(StoredStack{.span = spans[i], .frames = frames_of(paths[i])});
    auto& stack = request.stacks[at->second];
    ++stack.samples;
    stack.cpu += std::chrono::nanoseconds{weights[i]};
  }
  std::stable_sort(request.stacks.begin(), request.stacks.end(),
                   [](const auto& a, const auto& b) { return a.cpu > b.cpu; });
  if (request.stacks.size() > kMostStacks) request.stacks.resize(kMostStacks);
}

}  // namespace clrscope::store
