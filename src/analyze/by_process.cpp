#include "analyze/by_process.h"

#include <algorithm>

#include "analyze/words.h"

namespace clrscope::analyze {

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

void ByProcess::write_member(JsonWriter& json) const {
  json.key("byProcess").begin_array();
  for (const auto& [key, count] : ranked())
    json.begin_object()
        .member("pid", static_cast<std::int32_t>(key.second))
        .member("name", names_[key.first].name(key.second))
        .member("count", count)
        .end_object();
  json.end_array();
}

void ByProcess::add_table(Page& page, std::string_view what) const {
  if (counts_.size() < 2) return;
  std::uint64_t total = 0;
  for (const auto& [key, count] : counts_) total += count;
  PageTable table{.title = "By process",
                  .columns = {">SHARE", ">" + std::string{what}, "PROCESS"},
                  .note = "One of them: -p PID"};
  for (const auto& [key, count] : ranked())
    table.rows.push_back(
        {share_text(count, total), count_text(count), names_[key.first].who(key.second)});
  page.tables.insert(page.tables.begin(), std::move(table));
}

}  // namespace clrscope::analyze
