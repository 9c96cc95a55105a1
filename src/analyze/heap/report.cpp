#include "analyze/heap/report.h"

#include <algorithm>
#include <map>
#include <utility>

#include "base/text.h"

namespace clrscope::analyze {
namespace {

template <class Rows>
void cut(Rows& rows, std::size_t most) {
  if (rows.size() > most) rows.resize(most);
}

// "Order" of "Shop.Order", "Dictionary`2[…]" of "System.Collections.Generic.Dictionary`2[…]".
std::string_view simple_name(std::string_view name) {
  const auto head = name.substr(0, name.find_first_of("`[<"));
  const auto last = head.find_last_of(".+");
  return last == head.npos ? name : name.substr(last + 1);
}

bool contains_ignoring_case(std::string_view text, std::string_view part) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; };
  const auto found =
      std::ranges::search(text, part, [&](char a, char b) { return lower(a) == lower(b); });
  return part.empty() || !found.empty();
}

}  // namespace

HeapReport::HeapReport(const HeapSnapshot& snapshot)
    : snapshot_(snapshot),
      graph_(snapshot.graph),
      names_(join_types(snapshot.graph)),
      generations_(snapshot.segments) {}

bool HeapReport::has_references() const { return heap().objects() == 0 || !heap().roots.empty(); }

const Dominators& HeapReport::dominators() const {
  if (!dominators_) dominators_ = std::make_unique<Dominators>(find_dominators(graph_));
  return *dominators_;
}

const Paths& HeapReport::paths() const {
  if (!paths_) paths_ = std::make_unique<Paths>(graph_);
  return *paths_;
}

HeapSummary HeapReport::summary() const {
  HeapSummary made{.pid = snapshot_.pid,
                   .name = snapshot_.name,
                   .runtime = snapshot_.runtime,
                   .source = snapshot_.source,
                   .pause = snapshot_.pause,
                   .took = snapshot_.took,
                   .server_gc = snapshot_.server_gc,
                   .objects = heap().objects()};
  if (snapshot_.taken != decltype(snapshot_.taken){}) made.taken = snapshot_.taken;
  for (std::uint32_t object = 0; object < heap().objects(); ++object)
    made.bytes += heap().size_of(object);
  if (!has_references()) return made;
  made.unreachable_bytes = made.bytes - dominators().retained[graph_.top()];
  made.unreachable_objects =
      made.objects - static_cast<std::uint64_t>(std::ranges::count_if(
                         dominators().order, [&](auto node) { return graph_.is_object(node); }));
  return made;
}

std::vector<HeapTypeRow> HeapReport::types() const {
  auto rows = count_types(heap(), names_, has_references() ? &dominators() : nullptr);
  std::erase_if(rows, [](const auto& row) { return row.count == 0; });
  std::ranges::stable_sort(rows, std::greater{}, &HeapTypeRow::bytes);
  return rows;
}

std::vector<HeapRootRow> HeapReport::roots() const {
  std::vector<HeapRootRow> rows;
  if (!has_references()) return rows;
  const auto& tree = dominators();
  // Of each root: what it retains, and its child that retains most. Roots are right below the top.
  for (std::size_t at = 1; at < tree.order.size(); at += tree.subtree[at]) {
    const auto node = tree.order[at];
    if (!graph_.is_root(node)) continue;
    const auto& root = graph_.root(node);
    HeapRootRow row{.kind = root.kind,
                    .name = std::string{graph_.name(root)},
                    .objects = graph_.successors(node).size(),
                    .retained = tree.retained[node],
                    .retained_objects = tree.subtree[at] - 1};
    auto largest = RootedGraph::kNone;
    for (auto below = at + 1; below < at + tree.subtree[at]; below += tree.subtree[below])
      if (largest == RootedGraph::kNone ||
          tree.retained[tree.order[below]] > tree.retained[largest])
        largest = tree.order[below];
    if (largest == RootedGraph::kNone)  // others keep alive what it refers to, too
      for (const auto object : graph_.successors(node))
        if (largest == RootedGraph::kNone || tree.retained[object] > tree.retained[largest])
          largest = object;
    if (largest != RootedGraph::kNone) row.type = heap().types[heap().type_of[largest]].name;
    rows.push_back(std::move(row));
  }
  std::ranges::stable_sort(rows, std::greater{}, &HeapRootRow::retained);
  return rows;
}

HeapAnswer HeapReport::answer(const HeapLimits& limits) const {
  HeapAnswer made{.heap = summary(),
                  .generations = count_generations(snapshot_.segments),
                  .types = types(),
                  .roots = roots(),
                  .finalizable = snapshot_.finalizable,
                  .to_finalize = snapshot_.to_finalize,
                  .unread_bytes = snapshot_.unread_bytes,
                  .unresolved_edges = snapshot_.unresolved_edges,
                  .notes = snapshot_.notes};
  for (const auto& row : made.generations) {
    made.committed += row.committed;
    made.free += row.free;
  }
  std::map<RootKind, HeapRootKindRow> kinds;
  for (const auto& root : graph_.roots()) {
    kinds[root.kind].kind = root.kind;
    kinds[root.kind].roots += root.roots;
  }
  for (const auto& root : made.roots) kinds[root.kind].retained += root.retained;
  for (const auto& [kind, row] : kinds) made.root_kinds.push_back(row);
  if (has_references()) {
    made.dominators = dominator_tree(graph_, names_, dominators(), limits.tree);
    made.pinned_objects = made.pinned_bytes = 0;
    for (std::uint32_t node = graph_.objects(); node < graph_.top(); ++node) {
      if (graph_.root(node).kind != RootKind::kPinnedHandle) continue;
      for (const auto object : graph_.successors(node)) {
        ++*made.pinned_objects;
        *made.pinned_bytes += heap().size_of(object);
      }
    }
  }
  for (const auto& one : snapshot_.equal_strings) {
    made.wasted_by_strings += one.wasted();
    made.strings.push_back({one.value, one.length, one.count, one.bytes, one.wasted()});
  }
  std::ranges::stable_sort(made.strings, std::greater{}, &HeapStringRow::wasted);
  for (const auto& one : snapshot_.handles) made.handles.push_back({one.kind, one.count});
  made.all_types = made.types.size();
  cut(made.types, limits.types);
  cut(made.roots, limits.roots);
  cut(made.strings, limits.strings);
  return made;
}

std::vector<bool> HeapReport::matching(std::string_view name) const {
  std::vector<bool> wanted(names_.all.size());
  const auto take = [&](auto&& matches) {
    bool any = false;
    for (std::size_t at = 0; at < wanted.size(); ++at)
      if (matches(std::string_view{names_.all[at].name})) wanted[at] = any = true;
    return any;
  };
  if (take([&](auto type) { return type == name; })) return wanted;
  if (name.find_first_of("*?") != name.npos) {
    take([&](auto type) { return glob_match(name, type); });
    return wanted;
  }
  const auto simply = [&](std::string_view type) {
    const auto simple = simple_name(type);
    return simple == name || simple.substr(0, simple.find('`')) == name;
  };
  if (!take(simply)) take([&](auto type) { return contains_ignoring_case(type, name); });
  return wanted;
}

Failure HeapReport::no_such_type(std::string_view name) const {
  std::vector<std::string_view> words;
  for (const auto& type : names_.all) words.push_back(simple_name(type.name));
  auto failure = fail(Errc::kNotFound, "no object of a type named '{}' is on the heap", name);
  const auto close = nearest(name, words);
  if (close) return std::move(failure).hint("did you mean '{}'?", *close);
  return std::move(failure).hint("use the full name, a part of it, or * and ?");
}

Result<HeapTypeAnswer> HeapReport::type(std::string_view name, const HeapTypeLimits& limits) const {
  const auto wanted = matching(name);
  const auto is_wanted = [&](std::uint32_t object) {
    return wanted[names_.of_type[heap().type_of[object]]];
  };
  std::vector<std::uint32_t> found;
  for (std::uint32_t object = 0; object < heap().objects(); ++object)
    if (is_wanted(object)) found.push_back(object);
  if (found.empty()) return no_such_type(name);

  HeapTypeAnswer made{.heap = summary(), .type = std::string{name}, .count = found.size()};
  auto rows = count_types(heap(), names_, has_references() ? &dominators() : nullptr);
  for (std::size_t at = 0; at < rows.size(); ++at)
    if (wanted[at] && rows[at].count > 0) made.types.push_back(std::move(rows[at]));
  std::ranges::stable_sort(made.types, std::greater{}, &HeapTypeRow::bytes);
  std::map<HeapGeneration, HeapTypeGeneration> generations;
  for (const auto object : found) {
    const auto bytes = heap().size_of(object);
    made.bytes += bytes;
    const auto generation = generations_.of(heap().addresses[object]);
    auto& row = generations[generation];
    row.generation = generation;
    ++row.count;
    row.bytes += bytes;
  }
  for (const auto& [generation, row] : generations) made.generations.push_back(row);

  auto largest = found;
  const auto most = std::min(limits.instances, largest.size());
  const auto middle = largest.begin() + static_cast<std::ptrdiff_t>(most);
  if (has_references()) {
    const auto& tree = dominators();
    made.retained = 0;
    std::size_t inside_until = 0;
    for (std::size_t at = 0; at < tree.order.size(); ++at) {
      if (at < inside_until || !graph_.is_object(tree.order[at]) || !is_wanted(tree.order[at]))
        continue;
      inside_until = at + tree.subtree[at];
      *made.retained += tree.retained[tree.order[at]];
    }
    auto merged = paths().merged(found, limits.paths);
    made.paths = std::move(merged.paths);
    made.all_paths = merged.all;
    made.unreachable = merged.unreachable;
    for (const auto object : found)
      if (!tree.reachable(object)) *made.retained += heap().size_of(object);
    std::ranges::partial_sort(largest, middle, [&](auto a, auto b) {
      return std::pair{tree.retained[b], a} < std::pair{tree.retained[a], b};
    });
  } else {
    made.notes.push_back("the snapshot has no references: what keeps objects alive is unknown");
    std::ranges::partial_sort(largest, middle, [&](auto a, auto b) {
      return std::pair{heap().size_of(b), a} < std::pair{heap().size_of(a), b};
    });
  }
  cut(largest, most);
  for (const auto object : largest) {
    HeapInstance one{.address = heap_address(heap().addresses[object]),
                     .bytes = heap().size_of(object),
                     .generation = generations_.of(heap().addresses[object])};
    if (has_references()) {
      one.retained = dominators().retained[object];
      one.path = paths().to(object);
    }
    made.instances.push_back(std::move(one));
  }
  return made;
}

HeapNeighbour HeapReport::neighbour(std::uint32_t object) const {
  return {.address = heap_address(heap().addresses[object]),
          .type = heap().types[heap().type_of[object]].name,
          .bytes = heap().size_of(object),
          .retained = dominators().retained[object]};
}

std::vector<HeapNeighbour> HeapReport::neighbours(std::vector<std::uint32_t> objects,
                                                  std::size_t most) const {
  std::ranges::stable_sort(objects, std::greater{},
                           [&](auto object) { return dominators().retained[object]; });
  cut(objects, most);
  std::vector<HeapNeighbour> made;
  for (const auto object : objects) made.push_back(neighbour(object));
  return made;
}

Result<HeapObjectAnswer> HeapReport::object(std::uint64_t address, std::size_t most) const {
  const auto after = std::ranges::upper_bound(heap().addresses, address);
  const auto at = static_cast<std::uint32_t>(after - heap().addresses.begin()) - 1;
  if (after == heap().addresses.begin() ||
      address - heap().addresses[at] >= std::max<std::uint64_t>(heap().size_of(at), 1))
    return fail(Errc::kNotFound, "no object is at {}", heap_address(address))
        .hint("use an address from the same snapshot");
  HeapObjectAnswer made{.heap = summary(),
                        .address = heap_address(heap().addresses[at]),
                        .type = heap().types[heap().type_of[at]].name,
                        .module = heap().types[heap().type_of[at]].module,
                        .bytes = heap().size_of(at),
                        .retained = dominators().retained[at],
                        .generation = generations_.of(heap().addresses[at]),
                        .reachable = dominators().reachable(at),
                        .path = paths().to(at)};
  const auto dominator = dominators().dominator[at];
  if (made.reachable && graph_.is_object(dominator)) made.dominator = neighbour(dominator);
  const auto unique = [](std::vector<std::uint32_t> all) {
    std::ranges::sort(all);
    const auto [end, last] = std::ranges::unique(all);
    all.erase(end, last);
    return all;
  };
  const auto successors = graph_.successors(at);
  auto references = unique({successors.begin(), successors.end()});
  made.all_references = references.size();
  made.references = neighbours(std::move(references), most);
  std::vector<std::uint32_t> referrers;
  for (std::uint32_t object = 0; object < heap().objects(); ++object)
    if (std::ranges::find(graph_.successors(object), at) != graph_.successors(object).end())
      referrers.push_back(object);
  made.all_referrers = referrers.size();
  made.referrers = neighbours(std::move(referrers), most);
  return made;
}

}  // namespace clrscope::analyze
