#include "store/sqlite/flame_tree.h"

#include <algorithm>

namespace clrscope::store {

void PathSums::add(const ChunkStacks& stacks, std::size_t first, std::size_t count) {
  for (auto at = first - stacks.first; at < first - stacks.first + count; ++at) {
    const auto path = stacks.path[at];
    if (path >= sums_.size()) continue;
    sums_[path].self += stacks.self(at);
    ++sums_[path].calls;
  }
}

Result<std::uint64_t> PathSums::add(const SumGroup& group) {
  std::uint64_t spans = 0, path = 0;
  ByteReader in{group.paths};
  while (!in.at_end()) {
    path += in.read_varuint();
    const auto calls = in.read_varuint(), self = in.read_varuint();
    spans += calls;
    if (path >= sums_.size()) continue;
    sums_[path].self += self;
    sums_[path].calls += calls;
  }
  if (!in.ok()) return fail(Errc::kCorrupt, "the sums of a chunk are damaged");
  return spans;
}

void PathSums::write(const Names& names, Flame& flame) const {
  // Callers have smaller numbers than their callees: one pass from the end gives totals.
  std::vector<std::uint64_t> totals(sums_.size());
  std::vector<bool> used(sums_.size());
  std::vector<std::uint32_t> paths;
  for (auto path = sums_.size(); path-- > 1;) {
    totals[path] += sums_[path].self;
    used[path] = used[path] || sums_[path].calls > 0;
    if (!used[path]) continue;
    paths.push_back(static_cast<std::uint32_t>(path));
    const auto parent = names.path(static_cast<std::uint32_t>(path)).parent;
    used[parent] = true;
    totals[parent] += totals[path];
  }
  flame.total = std::chrono::nanoseconds{totals.empty() ? 0 : static_cast<std::int64_t>(totals[0])};
  // Children of a path, the largest last, so that the stack below gives it first.
  struct Edge {
    std::uint32_t parent, path;
  };
  std::vector<Edge> edges;
  edges.reserve(paths.size());
  for (const auto path : paths) edges.push_back({names.path(path).parent, path});
  std::sort(edges.begin(), edges.end(), [&](const Edge& a, const Edge& b) {
    if (a.parent != b.parent) return a.parent < b.parent;
    if (totals[a.path] != totals[b.path]) return totals[a.path] < totals[b.path];
    return a.path > b.path;
  });
  std::unordered_map<std::uint32_t, std::uint32_t> indexes;  // name → index in flame.names
  struct Open {
    std::uint32_t path, depth;
  };
  std::vector<Open> open;
  const auto push_children = [&](std::uint32_t parent, std::uint32_t depth) {
    auto at = std::lower_bound(edges.begin(), edges.end(), parent,
                               [](const Edge& edge, std::uint32_t p) { return edge.parent < p; });
    for (; at != edges.end() && at->parent == parent; ++at) open.push_back({at->path, depth});
  };
  push_children(0, 0);
  while (!open.empty()) {
    const auto [path, depth] = open.back();
    open.pop_back();
    const auto method = names.path(path).method;
    const auto [index, is_new] =
        indexes.try_emplace(method, static_cast<std::uint32_t>(flame.names.size()));
    if (is_new) flame.names.push_back(names.text(method));
    flame.name.push_back(index->second);
    flame.depth.push_back(depth);
    flame.self_ns.push_back(sums_[path].self);
    flame.calls.push_back(sums_[path].calls);
    push_children(path, depth + 1);
  }
}

}  // namespace clrscope::store
