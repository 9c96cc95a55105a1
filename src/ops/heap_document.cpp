// Answers about a heap as text.
#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "base/text.h"
#include "ops/heap.h"

namespace clrscope::ops {
namespace {

using analyze::HeapNode;
using analyze::HeapNodeKind;
using analyze::HeapStep;
using analyze::HeapSummary;

constexpr std::size_t kHoldsShown = 5;   // levels below a root
constexpr std::uint32_t kTreeDepth = 6;  // levels of --dominators
constexpr std::size_t kRootWidth = 40;   // columns of a root's name
constexpr std::size_t kHoldsWidth = 38;  // columns of what it holds; at least one level

std::string percent(std::uint64_t part, std::uint64_t whole) {
  if (whole == 0) return "";
  return fmt::format("{:.1f}", 100 * static_cast<double>(part) / static_cast<double>(whole));
}

std::string bytes_or_blank(const std::optional<std::uint64_t>& bytes) {
  return bytes ? format_bytes(*bytes) : "";
}

std::string signed_bytes(std::int64_t bytes) {
  if (bytes == 0) return "0";
  const auto size = static_cast<std::uint64_t>(bytes < 0 ? -bytes : bytes);
  return (bytes < 0 ? "-" : "+") + format_bytes(size);
}
std::string signed_count(std::int64_t count) {
  if (count == 0) return "0";
  const auto size = static_cast<std::uint64_t>(count < 0 ? -count : count);
  return (count < 0 ? "-" : "+") + format_count(size);
}

std::string_view word_of(RootKind kind) {
  switch (kind) {
    case RootKind::kStatic:
      return "static";
    case RootKind::kThreadStatic:
      return "thread static";
    case RootKind::kStack:
      return "stack";
    case RootKind::kFinalizer:
      return "finalizer queue";
    default:
      return name_of(kind);
  }
}

std::string root_text(RootKind kind, std::string_view name) {
  const auto word = word_of(kind);
  if (name.empty() || equal_ignoring_case(word, name)) return std::string{word};
  return fmt::format("{} {}", word, name);
}

// "LeakList.s_orders" of "Samples.Symptoms.LeakList.s_orders", "thread 7: Cart.Add" of
// "thread 7: Shop.Cart.Add(int)".
std::string short_root(std::string_view name) {
  const auto colon = name.find(": ");
  const auto prefix = colon == name.npos ? std::string_view{} : name.substr(0, colon + 2);
  name.remove_prefix(prefix.size());
  name = name.substr(0, name.find('('));
  std::size_t open = 0, dot = name.npos;
  for (std::size_t at = 0; at < name.size(); ++at) {
    if (name[at] == '[') ++open;
    if (name[at] == ']' && open > 0) --open;
    if (name[at] == '.' && open == 0) dot = at;
  }
  if (dot == name.npos) return fmt::format("{}{}", prefix, name);
  return fmt::format("{}{}.{}", prefix, short_type(name.substr(0, dot)), name.substr(dot + 1));
}

std::string counted(std::uint64_t count, std::string_view noun) {
  return fmt::format("{} {}{}", format_count(count), noun, count == 1 ? "" : "s");
}

bool is_own(std::string_view type) {
  return !type.starts_with("System.") && !type.starts_with("Microsoft.") &&
         !type.starts_with("Interop");
}

std::string who(const HeapSummary& heap) {
  auto text = heap.name.empty() ? std::string{"heap"} : heap.name;
  if (heap.pid > 0) text += fmt::format(" ({})", heap.pid);
  if (!heap.runtime.empty()) text += fmt::format(", .NET {}", heap.runtime);
  return text;
}

std::string how(const HeapSummary& heap) {
  std::string text;
  switch (heap.source) {
    case HeapSource::kTwin:
      text = "From a frozen copy of the process";
      break;
    case HeapSource::kCore:
      text = "From a core";
      break;
    case HeapSource::kEvents:
      text = "From the runtime's events after a full collection";
      break;
    case HeapSource::kFile:
      text = "From a file";
      break;
  }
  if (heap.taken) text += fmt::format(", {}", iso8601(*heap.taken));
  if (heap.pause.count() > 0)
    text += fmt::format("; the process was paused for {}", format_duration(heap.pause));
  if (heap.took.count() > 0) text += fmt::format("; read in {}", format_duration(heap.took));
  return text + ".";
}

std::string size_line(const HeapSummary& heap) {
  auto text = fmt::format("{}: {}, {} on the managed heap", who(heap),
                          counted(heap.objects, "object"), format_bytes(heap.bytes));
  if (heap.unreachable_bytes.value_or(0) > 0)
    text += fmt::format("; {} of it ({}) are garbage, not collected yet",
                        format_bytes(*heap.unreachable_bytes),
                        counted(heap.unreachable_objects.value_or(0), "object"));
  return text + ".";
}

// "List<Order> > Order[] > 100,000 Order": the largest child again and again, while it is most of
// its parent.
std::string holds(const std::vector<HeapNode>& tree, std::size_t node) {
  std::vector<std::string> parts;
  std::size_t width = 0;
  for (std::size_t level = 0; level < kHoldsShown; ++level) {
    std::size_t largest = 0;
    for (std::size_t at = node + 1; at < tree.size(); ++at)
      if (tree[at].parent == node && tree[at].kind == HeapNodeKind::kObjects &&
          (largest == 0 || tree[at].retained > tree[largest].retained))
        largest = at;
    if (largest == 0) break;
    if (level > 0 && tree[largest].retained * 2 < tree[node].retained) break;
    auto part = short_type(tree[largest].name);
    if (tree[largest].count > 1)
      part = fmt::format("{} {}", format_count(tree[largest].count), part);
    width += display_width(part) + 3;
    if (level > 0 && width > kHoldsWidth) break;
    parts.push_back(std::move(part));
    node = largest;
  }
  return fmt::format("{}", fmt::join(parts, " > "));
}

DocumentTable keepers(const HeapAnswer& heap, std::size_t rows) {
  DocumentTable table{.title = "What keeps memory alive",
                      .columns = {">RETAINED", ">%", "ROOT", "HOLDS"}};
  const auto& tree = heap.dominators;
  const auto reachable = tree.empty() ? 0 : tree[0].retained;
  std::size_t left = 0;
  for (std::size_t at = 1; at < tree.size(); ++at) {
    const auto& node = tree[at];
    if (node.parent != 0 || node.kind == HeapNodeKind::kRest) continue;
    if (table.rows.size() == rows) {
      ++left;
      continue;
    }
    auto root = node.kind == HeapNodeKind::kShared
                    ? std::string{"several roots"}
                    : root_text(node.root.value_or(RootKind::kOther), short_root(node.name));
    table.rows.push_back({format_bytes(node.retained), percent(node.retained, reachable),
                          cut_middle(root, kRootWidth), holds(tree, at)});
  }
  if (left > 0) table.note = fmt::format("{} more roots; --top N shows more.", left);
  return table;
}

DocumentTable types_table(const std::vector<analyze::HeapTypeRow>& types, std::uint64_t all,
                          std::uint64_t bytes, std::size_t rows) {
  DocumentTable table{.title = "Types, by size",
                      .columns = {">COUNT", ">BYTES", ">%", ">RETAINED", "TYPE"},
                      .keeps = "TYPE"};
  for (const auto& row : types) {
    if (table.rows.size() == rows) break;
    table.rows.push_back({format_count(row.count), format_bytes(row.bytes),
                          percent(row.bytes, bytes), bytes_or_blank(row.retained), row.type});
  }
  if (all > table.rows.size())
    table.note =
        fmt::format("{} more types; --top N shows more.", format_count(all - table.rows.size()));
  return table;
}

DocumentTable generations_table(const HeapAnswer& heap) {
  DocumentTable table{.title = "Generations",
                      .columns = {"GENERATION", ">SEGMENTS", ">OBJECTS", ">BYTES", ">COMMITTED",
                                  ">FREE", ">LARGEST FREE", ">FRAGMENTED %"}};
  for (const auto& row : heap.generations)
    table.rows.push_back({std::string{name_of(row.generation)}, format_count(row.segments),
                          format_count(row.objects), format_bytes(row.bytes),
                          format_bytes(row.committed), format_bytes(row.free),
                          format_bytes(row.largest_free),
                          fmt::format("{:.1f}", row.fragmentation)});
  return table;
}

DocumentTable strings_table(const HeapAnswer& heap, std::size_t rows) {
  DocumentTable table{.title = "Duplicate strings",
                      .columns = {">COUNT", ">BYTES", ">WASTED", ">LENGTH", "VALUE"}};
  for (const auto& row : heap.strings) {
    if (table.rows.size() == rows) break;
    table.rows.push_back({format_count(row.count), format_bytes(row.bytes),
                          format_bytes(row.wasted), format_count(row.length),
                          fmt::format("\"{}\"", row.value)});
  }
  if (table.rows.empty()) table.note = "No strings with the same value were counted.";
  return table;
}

// Depth first, the largest first; rests are left out.
DocumentTable tree_table(const HeapAnswer& heap, std::size_t rows) {
  DocumentTable table{.title = "Dominator tree: each line keeps the lines below it alive",
                      .columns = {">RETAINED", ">%", ">COUNT", "OBJECT"},
                      .keeps = "OBJECT"};
  const auto& tree = heap.dominators;
  std::vector<std::vector<std::size_t>> children(tree.size());
  for (std::size_t at = 1; at < tree.size(); ++at)
    if (tree[at].kind != HeapNodeKind::kRest) children[tree[at].parent].push_back(at);
  struct Open {
    std::size_t node = 0;
    std::uint32_t depth = 0;
  };
  std::vector<Open> todo;
  const auto open = [&](std::size_t node, std::uint32_t depth) {
    for (auto at = children[node].rbegin(); at != children[node].rend(); ++at)
      todo.push_back({*at, depth});
  };
  if (!tree.empty()) open(0, 0);
  while (!todo.empty() && table.rows.size() < rows * 3) {
    const auto [at, depth] = todo.back();
    todo.pop_back();
    const auto& node = tree[at];
    const auto name = node.kind == HeapNodeKind::kShared ? std::string{"(several roots)"}
                      : node.root                        ? root_text(*node.root, node.name)
                                                         : node.name;
    table.rows.push_back({format_bytes(node.retained), percent(node.retained, tree[0].retained),
                          node.count > 0 ? format_count(node.count) : "",
                          std::string(2 * std::size_t{depth}, ' ') + name});
    if (depth + 1 < kTreeDepth) open(at, depth + 1);
  }
  if (!todo.empty()) table.note = "Smaller ones are left out; --json has more.";
  return table;
}

void add_notes(Document& page, const std::vector<std::string>& notes) {
  for (const auto& note : notes) page.summary.push_back("Note: " + note);
}

void add_facts(Document& page, const HeapAnswer& heap) {
  std::vector<std::string> facts;
  if (!heap.handles.empty()) {
    std::vector<std::string> parts;
    for (const auto& one : heap.handles)
      if (one.count > 0) parts.push_back(fmt::format("{} {}", format_count(one.count), one.kind));
    if (!parts.empty()) facts.push_back(fmt::format("Handles: {}.", fmt::join(parts, ", ")));
  }
  if (heap.pinned_objects.value_or(0) > 0)
    facts.push_back(fmt::format("Pinned by handles: {}, {}.",
                                counted(*heap.pinned_objects, "object"),
                                format_bytes(heap.pinned_bytes.value_or(0))));
  if (heap.to_finalize.value_or(0) > 0)
    facts.push_back(fmt::format("{} objects wait for their finalizer to run.",
                                format_count(*heap.to_finalize)));
  if (heap.unread_bytes > 0)
    facts.push_back(
        fmt::format("{} of the heap could not be read.", format_bytes(heap.unread_bytes)));
  if (heap.unresolved_edges > 0)
    facts.push_back(
        fmt::format("{} references lead to no known object.", format_count(heap.unresolved_edges)));
  if (!facts.empty()) page.blocks.emplace_back(Gap{});
  for (auto& fact : facts) page.blocks.emplace_back(Paragraph{std::move(fact)});
}

// The type that is worth a question: the one that the largest root keeps most of; of .NET's own
// only when there is no other.
std::string suspect(const HeapAnswer& heap) {
  const auto& tree = heap.dominators;
  std::string name;
  for (std::size_t node = 0, level = 0; level < kHoldsShown + 1; ++level) {
    std::size_t largest = 0;
    for (std::size_t at = node + 1; at < tree.size(); ++at)
      if (tree[at].parent == node && tree[at].kind != HeapNodeKind::kRest &&
          (largest == 0 || tree[at].retained > tree[largest].retained))
        largest = at;
    if (largest == 0 || (level > 1 && tree[largest].retained * 2 < tree[node].retained)) break;
    if (tree[largest].kind == HeapNodeKind::kObjects &&
        (name.empty() || is_own(tree[largest].name)))
      name = tree[largest].name;
    node = largest;
  }
  if (name.empty() && !heap.types.empty()) name = heap.types[0].type;
  return name;
}

// A word of a command, quoted where a shell would read it in another way.
std::string shell_word(std::string_view word) {
  const bool plain = std::ranges::all_of(word, [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '.' || c == '_' || c == '-' ||
           c == '+' || c == '/';
  });
  if (plain && !word.empty()) return std::string{word};
  std::string quoted = "'";
  for (const char c : word) quoted += c == '\'' ? std::string{"'\\''"} : std::string{c};
  return quoted + "'";
}

}  // namespace

std::string short_type(std::string_view name) {
  std::string made;
  std::size_t word = 0;         // where the current name begins in `made`
  std::vector<bool> generic{};  // open brackets: of arguments, or of an array
  for (std::size_t at = 0; at < name.size(); ++at) {
    const char c = name[at];
    if (c == '.') {
      made.resize(word);
    } else if (c == '+') {
      made += '.';
    } else if (c == '`') {
      while (at + 1 < name.size() && std::isdigit(static_cast<unsigned char>(name[at + 1])) != 0)
        ++at;
    } else if (c == '[') {
      const bool array = at + 1 < name.size() &&
                         (name[at + 1] == ']' || name[at + 1] == ',' || name[at + 1] == '*');
      generic.push_back(!array);
      made += array ? '[' : '<';
      word = made.size();
    } else if (c == ']' && !generic.empty()) {
      made += generic.back() ? '>' : ']';
      generic.pop_back();
    } else if (c == ',' && !generic.empty() && generic.back()) {
      made += ", ";
      if (at + 1 < name.size() && name[at + 1] == ' ') ++at;
      word = made.size();
    } else {
      made += c;
    }
  }
  return made;
}

std::string path_text(const std::vector<HeapStep>& steps) {
  std::vector<std::string> parts;
  for (const auto& step : steps) {
    if (step.root)
      parts.push_back(root_text(*step.root, step.name));
    else if (step.times > 1)
      parts.push_back(fmt::format("{} x{}", short_type(step.name), format_count(step.times)));
    else
      parts.push_back(short_type(step.name));
  }
  return fmt::format("{}", fmt::join(parts, " > "));
}

Document heap_document(const HeapAnswer& heap, const HeapStyle& style) {
  Document page{.summary = {size_line(heap.heap), how(heap.heap)}};
  add_notes(page, heap.notes);
  if (!heap.dominators.empty()) {
    if (style.dominators)
      page.tables.push_back(tree_table(heap, style.rows));
    else
      page.tables.push_back(keepers(heap, std::min<std::size_t>(style.rows, 10)));
  }
  if (style.strings) page.tables.push_back(strings_table(heap, style.rows));
  page.tables.push_back(types_table(heap.types, heap.all_types, heap.heap.bytes, style.rows));
  if (!heap.generations.empty()) page.tables.push_back(generations_table(heap));
  add_facts(page, heap);
  if (!style.target.empty() && heap.heap.objects > 0)
    page.next =
        fmt::format("Next: clrscope heap {} --type {}", style.target, shell_word(suspect(heap)));
  return page;
}

Document heap_type_document(const HeapTypeAnswer& type, const HeapStyle& style) {
  const auto name = type.types.size() == 1
                        ? type.types[0].type
                        : fmt::format("{} types named '{}'", type.types.size(), type.type);
  auto line =
      fmt::format("{}: {}, {}", name, counted(type.count, "object"), format_bytes(type.bytes));
  if (type.retained)
    line += fmt::format(", {} with what they keep alive", format_bytes(*type.retained));
  if (type.unreachable > 0) line += fmt::format("; {} are garbage", format_count(type.unreachable));
  Document page{.summary = {line + ".", size_line(type.heap), how(type.heap)}};
  add_notes(page, type.notes);
  if (type.types.size() > 1)
    page.tables.push_back(types_table(type.types, type.types.size(), type.heap.bytes, style.rows));
  if (!type.paths.empty()) {
    DocumentTable table{.title = "What keeps them alive: shortest paths from the roots",
                        .columns = {">COUNT", ">BYTES", "PATH"},
                        .keeps = "PATH"};
    for (const auto& path : type.paths) {
      if (table.rows.size() == style.rows) break;
      table.rows.push_back(
          {format_count(path.count), format_bytes(path.bytes), path_text(path.steps)});
    }
    if (type.all_paths > table.rows.size())
      table.note = fmt::format("{} more paths.", format_count(type.all_paths - table.rows.size()));
    page.tables.push_back(std::move(table));
  }
  DocumentTable table{.title = "Objects that retain most",
                      .columns = {"ADDRESS", ">BYTES", ">RETAINED", "GENERATION"}};
  if (style.paths) table.columns.emplace_back("PATH");
  for (const auto& one : type.instances) {
    if (table.rows.size() == style.rows) break;
    table.rows.push_back({one.address, format_bytes(one.bytes), bytes_or_blank(one.retained),
                          std::string{name_of(one.generation)}});
    if (style.paths)
      table.rows.back().push_back(one.path.empty() ? "(nothing)" : path_text(one.path));
  }
  page.tables.push_back(std::move(table));
  return page;
}

Document heap_object_document(const HeapObjectAnswer& object, const HeapStyle& style) {
  Document page{.summary = {fmt::format("{} at {}: {}, {} with what it keeps alive; {}.",
                                        object.type, object.address, format_bytes(object.bytes),
                                        format_bytes(object.retained), name_of(object.generation)),
                            object.reachable ? path_text(object.path)
                                             : std::string{"Nothing keeps it alive."}}};
  const auto table = [&](std::string title, const auto& rows, std::uint64_t all) {
    DocumentTable made{.title = std::move(title),
                       .columns = {"ADDRESS", ">BYTES", ">RETAINED", "TYPE"},
                       .keeps = "TYPE"};
    for (const auto& one : rows) {
      if (made.rows.size() == style.rows) break;
      made.rows.push_back(
          {one.address, format_bytes(one.bytes), format_bytes(one.retained), one.type});
    }
    if (all > made.rows.size()) made.note = fmt::format("{} more.", all - made.rows.size());
    if (!made.rows.empty()) page.tables.push_back(std::move(made));
  };
  table("Refers to", object.references, object.all_references);
  table("Is referred to by", object.referrers, object.all_referrers);
  return page;
}

Document heap_diff_document(const HeapDiffAnswer& diff, const HeapStyle& style) {
  const auto when = [](const HeapSummary& heap) {
    return heap.taken ? iso8601(*heap.taken) : who(heap);
  };
  Document page{
      .summary = {fmt::format("{}: {} and {} objects from {} to {}.", who(diff.after),
                              signed_bytes(diff.bytes_change), signed_count(diff.objects_change),
                              when(diff.before), when(diff.after)),
                  fmt::format("Before: {} objects, {}. After: {} objects, {}.",
                              format_count(diff.before.objects), format_bytes(diff.before.bytes),
                              format_count(diff.after.objects), format_bytes(diff.after.bytes))}};
  add_notes(page, diff.notes);
  DocumentTable roots{.title = "Roots that keep more alive",
                      .columns = {">RETAINED", ">BEFORE", ">AFTER", "ROOT"},
                      .keeps = "ROOT"};
  for (const auto& row : diff.roots) {
    if (roots.rows.size() == std::min<std::size_t>(style.rows, 10) || row.retained_change <= 0)
      break;
    roots.rows.push_back({signed_bytes(row.retained_change), format_bytes(row.retained_before),
                          format_bytes(row.retained_after), root_text(row.kind, row.name)});
  }
  if (!roots.rows.empty()) page.tables.push_back(std::move(roots));
  DocumentTable types{.title = "Types that changed, most growth first",
                      .columns = {">BYTES", ">COUNT", ">RETAINED", ">COUNT NOW", "TYPE"},
                      .keeps = "TYPE"};
  for (const auto& row : diff.types) {
    if (types.rows.size() == style.rows) break;
    types.rows.push_back({signed_bytes(row.bytes_change), signed_count(row.count_change),
                          row.retained_change ? signed_bytes(*row.retained_change) : "",
                          format_count(row.count_after), row.type});
  }
  if (diff.all_types > types.rows.size())
    types.note =
        fmt::format("{} more types changed.", format_count(diff.all_types - types.rows.size()));
  if (diff.types.empty()) types.note = "No type changed.";
  page.tables.push_back(std::move(types));
  const auto grew = [](const analyze::HeapDiffRow& row) { return row.bytes_change > 0; };
  auto next = std::ranges::find_if(diff.types,
                                   [&](const auto& row) { return grew(row) && is_own(row.type); });
  if (next == diff.types.end()) next = std::ranges::find_if(diff.types, grew);
  if (!style.target.empty() && next != diff.types.end())
    page.next =
        fmt::format("Next: clrscope heap {} --type {}", style.target, shell_word(next->type));
  return page;
}

}  // namespace clrscope::ops
