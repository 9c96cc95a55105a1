#include "analyze/by_process.h"

#include <algorithm>

#include "analyze/words.h"

namespace clrscope::analyze {

const Shape& shape_of(const ProcessCount*) {
  static const auto shape = describe<ProcessCount>(
      "ProcessCount", "share of one process in a report",
      {member<&ProcessCount::pid>("pid", "process id"),
       member<&ProcessCount::name>("name", "process name; empty if unknown"),
       member<&ProcessCount::count>("count", "number of things counted in this process")});
  return shape;
}

void ByProcess::on_batch(const nettrace::Batch& batch,
                         std::initializer_list<nettrace::Known> counted) {
  for (const Event& event : batch.events) {
    names_[trace_].on_event(event);
    const auto known = known_.of(*event.type);
    if (std::ranges::find(counted, known) != counted.end()) add(event.process);
  }
}

void ByProcess::end_of_trace() {
  ++trace_;
  names_.emplace_back();
  known_.forget();
}

std::vector<std::pair<ByProcess::Key, std::uint64_t>> ByProcess::ranked() const {
  std::vector<std::pair<Key, std::uint64_t>> all{counts_.begin(), counts_.end()};
  std::ranges::stable_sort(all, std::greater{}, [](const auto& one) { return one.second; });
  return all;
}

std::vector<ProcessCount> ByProcess::all() const {
  std::vector<ProcessCount> all;
  for (const auto& [key, count] : ranked())
    all.push_back({key.second, names_[key.first].name(key.second), count});
  return all;
}

void ByProcess::add_table(Document& page, std::string_view what) const {
  if (counts_.size() < 2) return;
  std::uint64_t total = 0;
  for (const auto& [key, count] : counts_) total += count;
  DocumentTable table{.title = "By process",
                      .columns = {">SHARE", ">" + std::string{what}, "PROCESS"},
                      .note = "Use -p PID to select one."};
  for (const auto& [key, count] : ranked())
    table.rows.push_back(
        {share_text(count, total), count_text(count), names_[key.first].who(key.second)});
  page.tables.insert(page.tables.begin(), std::move(table));
}

}  // namespace clrscope::analyze
