#include "gcdump/graph_builder.h"

#include <algorithm>
#include <map>

#include "gcdump/encoding.h"
#include "gcdump/root_nodes.h"

namespace clrscope::gcdump {
namespace {

constexpr std::uint32_t kNone = 0xffffffff;

enum class NodeKind : std::uint8_t { kObject, kRoot, kUndefined };

struct Node {
  std::uint32_t type = 0;
  std::uint32_t size = 0;
  std::uint32_t children = 0;
  const std::uint8_t* at = nullptr;  // of the first child
};

template <class T>
T value_at(Bytes array, std::size_t index) {
  T value;
  std::memcpy(&value, array.data() + index * sizeof(T), sizeof(T));
  return value;
}

// "Shop.Core" of "/app/Shop.Core.dll"
std::string_view module_name(std::string_view path) {
  path.remove_prefix(std::min(path.find_last_of("/\\") + 1, path.size()));
  for (const std::string_view extension : {".dll", ".exe"})
    if (path.size() > extension.size() && path.ends_with(extension))
      return path.substr(0, path.size() - extension.size());
  return path;
}

// "System.Byte[]" of "System.Byte[] (Bytes > 10K)"
std::string_view without_size(std::string_view name) {
  if (!name.ends_with(')')) return name;
  const auto at = name.rfind(" (Bytes > ");
  return at == std::string_view::npos ? name : name.substr(0, at);
}

class Builder {
 public:
  explicit Builder(const FileGraph& file)
      : file_(file), nodes_(static_cast<std::uint32_t>(file.places.size() / 4)) {}

  Result<BuiltGraph> run() && {
    TRY(look_at_all());
    if (file_.root >= 0 && static_cast<std::uint32_t>(file_.root) < nodes_) TRY(find_roots());
    number_objects();
    fill();
    return BuiltGraph{std::move(graph_), unresolved_};
  }

 private:
  std::uint64_t address(std::uint32_t node) const {
    return value_at<std::uint64_t>(file_.addresses, node);
  }

  bool read(std::uint32_t index, Node& node) const {
    const auto place = value_at<std::uint32_t>(file_.places, index);
    if (place >= file_.nodes.size()) return false;
    const auto* end = file_.nodes.data() + file_.nodes.size();
    node.at = file_.nodes.data() + place;
    std::int32_t type = 0, size = 0, children = 0;
    if (!take_number(node.at, end, type) || type < 0) return false;
    node.type = static_cast<std::uint32_t>(type) >> 1;
    if (node.type >= file_.types.size()) return false;
    if ((type & 1) == 0)
      size = std::max(file_.types[node.type].size, 0);
    else if (!take_number(node.at, end, size))
      return false;
    if (!take_number(node.at, end, children) || children < 0 || size < 0) return false;
    if (children > end - node.at) return false;  // each has a byte at least
    node.size = static_cast<std::uint32_t>(size);
    node.children = static_cast<std::uint32_t>(children);
    return true;
  }

  // The next child; kNone for one that is no node.
  std::uint32_t next_child(std::uint32_t index, Node& node) const {
    std::int32_t distance = 0;
    if (!take_number(node.at, file_.nodes.data() + file_.nodes.size(), distance)) return kNone;
    const auto child = std::int64_t{index} + distance;
    return child >= 0 && child < nodes_ ? static_cast<std::uint32_t>(child) : kNone;
  }

  Result<> look_at_all() {
    kinds_.assign(nodes_, NodeKind::kObject);
    std::uint64_t children = 0;
    for (std::uint32_t i = 0; i < nodes_; ++i) {
      Node node;
      if (!read(i, node)) return fail(Errc::kCorrupt, "damaged .gcdump: node {} cannot be read", i);
      if (node.type == 0 && file_.types[0].name == kUndefined) kinds_[i] = NodeKind::kUndefined;
      // Nodes do not overlap; if they did, a small file could describe any number of references.
      children += node.children;
      if (children > file_.nodes.size())
        return fail(Errc::kCorrupt, "damaged .gcdump: its nodes have more references than bytes");
    }
    children_ = children;
    return {};
  }

  struct Pending {
    std::uint32_t node;
    RootGroup group;
  };

  // From the root of all down to the first objects.
  Result<> find_roots() {
    const auto root = static_cast<std::uint32_t>(file_.root);
    if (kinds_[root] != NodeKind::kObject || address(root) != 0) return {};
    std::vector<Pending> pending;
    pending.push_back({root, group_of(name_of(root), nullptr)});
    kinds_[root] = NodeKind::kRoot;
    std::map<std::string, std::uint32_t, std::less<>> names;
    while (!pending.empty()) {
      const auto [index, group] = std::move(pending.back());
      pending.pop_back();
      Node node;
      CHECK(read(index, node));
      for (auto left = node.children; left > 0; --left) {
        const auto child = next_child(index, node);
        if (child == kNone || kinds_[child] == NodeKind::kUndefined) {
          // dotnet-gcdump writes roots that hold null as a node with the address 0.
          if (child == kNone || address(child) != 0) ++unresolved_;
        } else if (stands_for_roots(child)) {
          kinds_[child] = NodeKind::kRoot;
          pending.push_back({child, group_of(name_of(child), &group)});
        } else if (kinds_[child] == NodeKind::kObject) {
          const auto name =
              names.try_emplace(group.name, static_cast<std::uint32_t>(names.size())).first;
          graph_.roots.push_back({.object = child, .kind = group.kind, .name = name->second});
        }
      }
    }
    graph_.root_names.resize(names.size());
    for (const auto& [name, at] : names) graph_.root_names[at] = name;
    return {};
  }

  const std::string& name_of(std::uint32_t index) const {
    Node node;
    CHECK(read(index, node));
    return file_.types[node.type].name;
  }

  bool stands_for_roots(std::uint32_t index) const {
    if (kinds_[index] != NodeKind::kObject) return false;
    Node node;
    CHECK(read(index, node));
    if (file_.types[node.type].name.starts_with("[CCW ")) return true;
    return node.size == 0 && address(index) == 0;
  }

  // Objects in the order of their addresses.
  void number_objects() {
    order_.reserve(nodes_);
    bool sorted = true;
    for (std::uint32_t i = 0; i < nodes_; ++i) {
      if (kinds_[i] != NodeKind::kObject) continue;
      sorted = sorted && (order_.empty() || address(order_.back()) <= address(i));
      order_.push_back(i);
    }
    if (!sorted) {
      std::vector<std::pair<std::uint64_t, std::uint32_t>> by_address;
      by_address.reserve(order_.size());
      for (const auto node : order_) by_address.emplace_back(address(node), node);
      std::ranges::sort(by_address);
      for (std::size_t i = 0; i < order_.size(); ++i) order_[i] = by_address[i].second;
    }
    number_.assign(nodes_, kNone);
    for (std::uint32_t i = 0; i < order_.size(); ++i) number_[order_[i]] = i;
  }

  std::uint32_t type_of(std::uint32_t file_type) {
    auto& known = types_[file_type];
    if (known != kNone) return known;
    const auto& type = file_.types[file_type];
    const auto name = file_.merge_types ? without_size(type.name) : std::string_view{type.name};
    const auto module = module_name(type.module);
    const auto next = static_cast<std::uint32_t>(graph_.types.size());
    if (file_.merge_types)
      known = merged_.try_emplace(std::pair{std::string{name}, std::string{module}}, next)
                  .first->second;
    else
      known = next;
    if (known == next)
      graph_.types.push_back({.name = std::string{name}, .module = std::string{module}});
    return known;
  }

  void fill() {
    const auto objects = order_.size();
    types_.assign(file_.types.size(), kNone);
    // A file of ours has its types in their order, also those without objects; roots' come last.
    if (!file_.merge_types) keep_types_in_order();
    graph_.addresses.reserve(objects);
    graph_.type_of.reserve(objects);
    graph_.sizes.reserve(objects);
    graph_.first_edge.reserve(objects + 1);
    graph_.edges.reserve(children_);
    graph_.first_edge.push_back(0);
    for (const auto index : order_) {
      Node node;
      CHECK(read(index, node));
      graph_.addresses.push_back(address(index));
      graph_.type_of.push_back(type_of(node.type));
      graph_.sizes.push_back(node.size);
      for (auto left = node.children; left > 0; --left) {
        const auto child = next_child(index, node);
        const auto number = child == kNone ? kNone : number_[child];
        if (number == kNone)
          ++unresolved_;
        else
          graph_.edges.push_back(number);
      }
      graph_.first_edge.push_back(static_cast<std::uint32_t>(graph_.edges.size()));
    }
    for (auto& root : graph_.roots) root.object = number_[root.object];
  }

  void keep_types_in_order() {
    std::vector<bool> of_roots(file_.types.size());
    for (std::uint32_t i = 0; i < nodes_; ++i) {
      Node node;
      if (kinds_[i] == NodeKind::kRoot && read(i, node)) of_roots[node.type] = true;
    }
    for (std::uint32_t i = 1; i < file_.types.size(); ++i)
      if (!of_roots[i]) (void)type_of(i);
  }

  const FileGraph& file_;
  const std::uint32_t nodes_;
  std::vector<NodeKind> kinds_;
  std::vector<std::uint32_t> order_;   // the nodes of the objects
  std::vector<std::uint32_t> number_;  // of each node's object
  std::vector<std::uint32_t> types_;   // of each type of the file
  std::map<std::pair<std::string, std::string>, std::uint32_t> merged_;
  std::uint64_t children_ = 0;
  std::uint64_t unresolved_ = 0;
  HeapGraph graph_;
};

}  // namespace

Result<BuiltGraph> build_graph(const FileGraph& file) { return Builder{file}.run(); }

}  // namespace clrscope::gcdump
