#include "gcdump/root_nodes.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace clrscope::gcdump {
namespace {

constexpr std::string_view kStaticVar = "static var ";
constexpr std::string_view kOtherRoots = "[other roots]";

struct Group {
  RootKind kind;
  std::string_view name;   // as dotnet-gcdump writes it
  std::string_view below;  // empty: below the root of all
};
constexpr Group kGroups[] = {
    {RootKind::kStatic, "[static vars]", ""},
    {RootKind::kThreadStatic, "[thread static vars]", ""},
    {RootKind::kStack, "[local vars]", ""},
    {RootKind::kStrongHandle, "[strong Handles]", kOtherRoots},
    {RootKind::kPinnedHandle, "[pinning Handles]", kOtherRoots},
    {RootKind::kRefCountHandle, "[COM/WinRT Objects]", kOtherRoots},
    {RootKind::kFinalizer, "[finalizer Handles]", kOtherRoots},
    {RootKind::kOther, "[other Handles]", kOtherRoots},
};

// Names that PerfView gives to the same groups.
constexpr Group kOtherNames[] = {
    {RootKind::kStack, "[Pinned local vars]", ""},
    {RootKind::kStack, "[Stack]", ""},
    {RootKind::kStrongHandle, "[StrongHandle]", ""},
    {RootKind::kStrongHandle, "[SizedRefHandle]", ""},
    {RootKind::kPinnedHandle, "[PinnedHandle]", ""},
    {RootKind::kPinnedHandle, "[AsyncPinnedHandle]", ""},
    {RootKind::kRefCountHandle, "[RefCountedHandle]", ""},
    {RootKind::kFinalizer, "[FinalizerQueue]", ""},
    {RootKind::kOther, "[Dependent Handles]", ""},
};

bool is_static(RootKind kind) {
  return kind == RootKind::kStatic || kind == RootKind::kThreadStatic;
}

std::string_view name_of(const HeapGraph& graph, const HeapRoot& root) {
  return root.name < graph.root_names.size() ? std::string_view{graph.root_names[root.name]}
                                             : std::string_view{};
}

class Builder {
 public:
  Builder(const HeapGraph& graph, std::uint32_t first) : graph_(graph), first_(first) {
    nodes_.push_back({std::string{kRootOfAll}});
  }

  std::vector<RootNode> build() && {
    std::vector<std::uint32_t> order(graph_.roots.size());
    for (std::uint32_t i = 0; i < order.size(); ++i) order[i] = i;
    std::ranges::stable_sort(order, [&](std::uint32_t a, std::uint32_t b) {
      const auto& one = graph_.roots[a];
      const auto& other = graph_.roots[b];
      if (one.kind != other.kind) return one.kind < other.kind;
      return name_of(graph_, one) < name_of(graph_, other);
    });
    const HeapRoot* before = nullptr;
    std::size_t node = 0;
    for (const auto at : order) {
      const auto& root = graph_.roots[at];
      if (root.object >= graph_.objects()) continue;
      if (before == nullptr || before->kind != root.kind ||
          name_of(graph_, *before) != name_of(graph_, root))
        node = node_for(root);
      nodes_[node].children.push_back(root.object);
      before = &root;
    }
    return std::move(nodes_);
  }

 private:
  std::size_t node_for(const HeapRoot& root) {
    const auto& group =
        kGroups[std::min<std::size_t>(static_cast<std::size_t>(root.kind), std::size(kGroups) - 1)];
    auto at = group.below.empty() ? 0 : child(0, group.below);
    at = child(at, group.name);
    const auto name = name_of(graph_, root);
    if (name.empty()) return at;
    return child(at, fmt::format("[{}{}]", is_static(root.kind) ? kStaticVar : "", name));
  }

  // By name among the children of a node, made when it is not there.
  std::size_t child(std::size_t parent, std::string_view name) {
    const auto [found, added] =
        known_.try_emplace(std::pair{parent, std::string{name}}, nodes_.size());
    if (added) {
      nodes_[parent].children.push_back(first_ + static_cast<std::uint32_t>(nodes_.size()));
      nodes_.push_back({std::string{name}});
    }
    return found->second;
  }

  const HeapGraph& graph_;
  const std::uint32_t first_;
  std::vector<RootNode> nodes_;
  std::map<std::pair<std::size_t, std::string>, std::size_t> known_;
};

}  // namespace

std::vector<RootNode> root_nodes(const HeapGraph& graph, std::uint32_t first) {
  return Builder{graph, first}.build();
}

RootGroup group_of(std::string_view node_name, const RootGroup* parent) {
  // Below a group of one kind every name is a root's own, whatever it looks like.
  if (parent == nullptr || parent->holder) {
    if (node_name == kRootOfAll || node_name == kOtherRoots) return {RootKind::kOther, "", true};
    for (const auto& group : kGroups)
      if (group.name == node_name) return {group.kind};
    for (const auto& group : kOtherNames)
      if (group.name == node_name) return {group.kind};
    if (parent == nullptr) return {RootKind::kOther, "", true};
  }
  auto name = node_name;
  if (name.starts_with('[') && name.ends_with(']') && name.size() >= 2)
    name = name.substr(1, name.size() - 2);
  RootGroup found{parent->kind};
  if (name.starts_with(kStaticVar) && (parent->holder || is_static(parent->kind))) {
    name.remove_prefix(kStaticVar.size());
    if (parent->holder) found.kind = RootKind::kStatic;
  } else if (name.starts_with("CCW ") && parent->holder) {
    found.kind = RootKind::kRefCountHandle;
  }
  found.name = name;
  return found;
}

}  // namespace clrscope::gcdump
