// What changed between two heaps.
#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "analyze/heap/report.h"

namespace clrscope::analyze {
namespace {

std::int64_t change(std::uint64_t before, std::uint64_t after) {
  return static_cast<std::int64_t>(after) - static_cast<std::int64_t>(before);
}

std::vector<HeapDiffRow> changed_types(const HeapReport& before, const HeapReport& after) {
  std::map<std::pair<std::string, std::string>, HeapDiffRow> rows;
  for (const auto& one : before.types()) {
    auto& row = rows[{one.type, one.module}];
    row.count_before = one.count;
    row.bytes_before = one.bytes;
    row.retained_before = one.retained;
  }
  for (const auto& one : after.types()) {
    auto& row = rows[{one.type, one.module}];
    row.count_after = one.count;
    row.bytes_after = one.bytes;
    row.retained_after = one.retained;
  }
  const bool retained = before.has_references() && after.has_references();
  std::vector<HeapDiffRow> made;
  for (auto& [key, row] : rows) {
    std::tie(row.type, row.module) = key;
    row.count_change = change(row.count_before, row.count_after);
    row.bytes_change = change(row.bytes_before, row.bytes_after);
    if (retained) {
      row.retained_before = row.retained_before.value_or(0);  // a type that was not there
      row.retained_after = row.retained_after.value_or(0);
      row.retained_change = change(*row.retained_before, *row.retained_after);
    }
    if (row.count_change != 0 || row.bytes_change != 0 || row.retained_change.value_or(0) != 0)
      made.push_back(std::move(row));
  }
  std::ranges::stable_sort(made, std::greater{}, [](const HeapDiffRow& row) {
    return std::pair{row.bytes_change, row.retained_change.value_or(0)};
  });
  return made;
}

std::vector<HeapRootDiffRow> changed_roots(const HeapReport& before, const HeapReport& after) {
  std::map<std::pair<RootKind, std::string>, HeapRootDiffRow> rows;
  for (const auto& one : before.roots()) rows[{one.kind, one.name}].retained_before += one.retained;
  for (const auto& one : after.roots()) rows[{one.kind, one.name}].retained_after += one.retained;
  std::vector<HeapRootDiffRow> made;
  for (auto& [key, row] : rows) {
    std::tie(row.kind, row.name) = key;
    row.retained_change = change(row.retained_before, row.retained_after);
    if (row.retained_change != 0) made.push_back(std::move(row));
  }
  std::ranges::stable_sort(made, std::greater{}, &HeapRootDiffRow::retained_change);
  return made;
}

// The most growth, and the most shrinkage where there is room.
template <class Rows>
void cut(Rows& rows, std::size_t most) {
  if (rows.size() <= most) return;
  const auto last = most / 4;
  rows.erase(rows.begin() + static_cast<std::ptrdiff_t>(most - last),
             rows.end() - static_cast<std::ptrdiff_t>(last));
}

}  // namespace

HeapDiffAnswer diff_heaps(const HeapReport& before, const HeapReport& after, std::size_t most) {
  HeapDiffAnswer made{.before = before.summary(), .after = after.summary()};
  made.objects_change = change(made.before.objects, made.after.objects);
  made.bytes_change = change(made.before.bytes, made.after.bytes);
  made.types = changed_types(before, after);
  made.all_types = made.types.size();
  cut(made.types, most);
  if (before.has_references() && after.has_references()) {
    made.roots = changed_roots(before, after);
    cut(made.roots, most);
  } else {
    made.notes.push_back("a snapshot has no references: what is retained is unknown");
  }
  return made;
}

}  // namespace clrscope::analyze
