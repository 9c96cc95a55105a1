#include "analyze/heap_assembly.h"

#include <algorithm>
#include <numeric>
#include <optional>

namespace clrscope::analyze {
namespace {

constexpr std::uint32_t kNone = 0xffffffff;
constexpr unsigned kPageBits = 12;

// Numbers of objects by their addresses: first the page, then within it.
class AddressIndex {
 public:
  explicit AddressIndex(const std::vector<std::uint64_t>& sorted) : sorted_(sorted) {
    for (std::size_t i = 0; i < sorted.size(); ++i) {
      const auto page = sorted[i] >> kPageBits;
      if (!pages_.empty() && pages_.back() == page) continue;
      pages_.push_back(page);
      first_.push_back(i);
    }
    first_.push_back(sorted.size());
  }

  std::uint32_t find(std::uint64_t address) {
    const auto page = address >> kPageBits;
    if (last_ >= pages_.size() || pages_[last_] != page) {
      const auto at = std::ranges::lower_bound(pages_, page);
      if (at == pages_.end() || *at != page) return kNone;
      last_ = static_cast<std::size_t>(at - pages_.begin());
    }
    const auto begin = sorted_.begin() + static_cast<std::ptrdiff_t>(first_[last_]);
    const auto end = sorted_.begin() + static_cast<std::ptrdiff_t>(first_[last_ + 1]);
    const auto at = std::lower_bound(begin, end, address);
    if (at == end || *at != address) return kNone;
    return static_cast<std::uint32_t>(at - sorted_.begin());
  }

 private:
  const std::vector<std::uint64_t>& sorted_;
  std::vector<std::uint64_t> pages_;
  std::vector<std::size_t> first_;  // object of each page
  std::size_t last_ = 0;
};

class Assembly {
 public:
  explicit Assembly(WalkedHeap&& walked) : walked_(std::move(walked)) {}

  AssembledHeap run() && {
    sort_objects();
    place_references();
    resolve();
    for (const auto& root : walked_.roots) {
      const auto object = index_->find(root.object);
      if (object == kNone)
        ++out_.unresolved_roots;
      else
        out_.graph.roots.push_back({object, root.kind, root.name});
    }
    out_.graph.root_names = std::move(walked_.root_names);
    return std::move(out_);
  }

 private:
  void sort_objects() {
    const auto objects = walked_.addresses.size();
    order_.resize(objects);
    std::iota(order_.begin(), order_.end(), 0U);
    if (!std::ranges::is_sorted(walked_.addresses)) {
      std::vector<std::pair<std::uint64_t, std::uint32_t>> pairs(objects);
      for (std::uint32_t i = 0; i < objects; ++i) pairs[i] = {walked_.addresses[i], i};
      std::ranges::sort(pairs);
      for (std::size_t i = 0; i < objects; ++i) {
        walked_.addresses[i] = pairs[i].first;
        order_[i] = pairs[i].second;
      }
    }
    auto& graph = out_.graph;
    graph.addresses = std::move(walked_.addresses);
    graph.type_of.resize(objects);
    graph.sizes.resize(objects);
    for (std::uint32_t i = 0; i < objects; ++i) {
      const auto from = order_[i];
      graph.type_of[i] = walked_.type_of[from];
      graph.sizes[i] = walked_.sizes[from];
      if (graph.sizes[i] == HeapGraph::kHuge) graph.huge_sizes[i] = walked_.huge_sizes[from];
    }
    walked_.type_of = {}, walked_.sizes = {};
    index_.emplace(graph.addresses);
  }

  // Where the references of each object begin, in the order of the walk.
  void place_references() {
    const auto objects = order_.size();
    begins_.assign(objects, 0);
    present_.swap(walked_.reference_counts);
    std::size_t at = 0;
    std::size_t gap = 0;
    std::uint64_t lost = 0;  // of the gap here, not yet taken by an object
    for (std::size_t i = 0; i < objects; ++i) {
      auto left = present_[i];
      if (i >= walked_.attributed) {
        out_.unresolved_edges += left;
        present_[i] = 0;
        continue;
      }
      begins_[i] = at;
      std::uint32_t here = 0;
      while (left > 0) {
        if (gap < walked_.gaps.size() && walked_.gaps[gap].at == at && lost == 0)
          lost = walked_.gaps[gap++].lost;
        if (lost > 0) {
          const auto taken = static_cast<std::uint32_t>(std::min<std::uint64_t>(lost, left));
          lost -= taken, left -= taken, out_.unresolved_edges += taken;
          continue;
        }
        if (at == walked_.references.size()) break;
        ++at, ++here, --left;
      }
      out_.unresolved_edges += left;
      present_[i] = here;
    }
  }

  void resolve() {
    std::vector<std::pair<std::uint32_t, std::uint32_t>> dependent;
    for (const auto& [key, value] : walked_.dependent) {
      const auto from = index_->find(key);
      const auto to = index_->find(value);
      if (from == kNone || to == kNone)
        ++out_.unresolved_edges;
      else
        dependent.emplace_back(from, to);
    }
    std::ranges::sort(dependent);
    auto& graph = out_.graph;
    graph.first_edge.reserve(order_.size() + 1);
    graph.edges.reserve(walked_.references.size() + dependent.size());
    graph.first_edge.push_back(0);
    auto next = dependent.begin();
    for (std::uint32_t i = 0; i < order_.size(); ++i) {
      const auto from = order_[i];
      for (std::size_t at = begins_[from], end = at + present_[from]; at < end; ++at)
        add_edge(walked_.references[at]);
      for (; next != dependent.end() && next->first == i; ++next)
        graph.edges.push_back(next->second);
      graph.first_edge.push_back(static_cast<std::uint32_t>(graph.edges.size()));
    }
  }

  void add_edge(std::uint64_t target) {
    const auto object = index_->find(target);
    if (object == kNone)
      ++out_.unresolved_edges;
    else
      out_.graph.edges.push_back(object);
  }

  WalkedHeap walked_;
  AssembledHeap out_;
  std::vector<std::uint32_t> order_;    // by object: its place in the walk
  std::vector<std::size_t> begins_;     // by place in the walk: its first reference
  std::vector<std::uint32_t> present_;  // likewise: how many of its references are there
  std::optional<AddressIndex> index_;
};

}  // namespace

void WalkedHeap::add(std::uint64_t address, std::uint64_t size, std::uint32_t type,
                     std::uint32_t reference_count) {
  if (size >= HeapGraph::kHuge) {
    huge_sizes[static_cast<std::uint32_t>(addresses.size())] = size;
    size = HeapGraph::kHuge;
  }
  addresses.push_back(address);
  type_of.push_back(type);
  sizes.push_back(static_cast<std::uint32_t>(size));
  reference_counts.push_back(reference_count);
}

AssembledHeap assemble(WalkedHeap&& walked) { return Assembly{std::move(walked)}.run(); }

}  // namespace clrscope::analyze
