// Roots as nodes: a .gcdump shows what keeps objects alive as nodes without an address that refer
// to the objects, in groups: "[.NET Roots]" has "[static vars]" has "[static var Shop.Cart.s_all]".
// For the files of this room.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/heap.h"

namespace clrscope::gcdump {

constexpr std::string_view kRootOfAll = "[.NET Roots]";

struct RootNode {
  std::string name{};                     // of its type
  std::vector<std::uint32_t> children{};  // numbers of nodes
};

// The nodes for the roots of a graph; the first is the root of all, and has the number `first`.
std::vector<RootNode> root_nodes(const HeapGraph& graph, std::uint32_t first);

// What the name of such a node says, of our files and of others.
struct RootGroup {
  RootKind kind = RootKind::kOther;
  std::string name{};   // of the one root that it stands for; empty: it is a group
  bool holder = false;  // of groups of several kinds
};
// `parent` is the node that refers to it; none for the root of all.
RootGroup group_of(std::string_view node_name, const RootGroup* parent);

}  // namespace clrscope::gcdump
