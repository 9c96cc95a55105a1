// What a trace holds: how many events of each kind.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "analyze/event_name.h"
#include "analyze/report.h"
#include "analyze/words.h"

namespace clrscope::analyze {
namespace {

struct Tally {
  std::uint64_t count = 0;
  std::uint64_t bytes = 0;  // of payload
};

class Events final : public Report {
 public:
  explicit Events(const ReportOptions& options) : options_(options) {}

  void on_batch(const nettrace::Reader& reader, const nettrace::Batch& batch) override {
    if (by_type_.size() < reader.type_count()) by_type_.resize(reader.type_count());
    for (const Event& event : batch.events) {
      auto& tally = by_type_[event.type->index];
      ++tally.count;
      tally.bytes += event.payload.size();
    }
  }

  void end_of_trace(const nettrace::Reader& reader) override {
    for (std::size_t i = 0; i < by_type_.size(); ++i) {
      if (by_type_[i].count == 0) continue;
      const auto& type = reader.type(i);
      auto& tally = by_name_[{type.provider, event_name(type)}];
      tally.count += by_type_[i].count;
      tally.bytes += by_type_[i].bytes;
      total_.count += by_type_[i].count;
      total_.bytes += by_type_[i].bytes;
    }
    by_type_.clear();
    lost_ += reader.summary().lost;
  }

  void write_members(JsonWriter& json) const override {
    json.member("events", total_.count).key("byEvent").begin_array();
    for (const auto* one : ranked()) {
      const auto& [names, tally] = *one;
      json.begin_object()
          .member("provider", names.first)
          .member("name", names.second)
          .member("count", tally.count)
          .member("payloadBytes", tally.bytes)
          .end_object();
    }
    json.end_array();
  }

  Page page() const override {
    Page page;
    page.summary.push_back(fmt::format("{} events of {} kinds, {} lost.", count_text(total_.count),
                                       by_name_.size(), count_text(lost_)));
    if (by_name_.empty()) return page;
    PageTable table{.columns = {">COUNT", ">SHARE", ">PAYLOAD", "EVENT", "PROVIDER"}};
    const auto all = ranked();
    const auto rows = options_.rows != 0 ? std::min(all.size(), options_.rows) : all.size();
    for (std::size_t i = 0; i < rows; ++i) {
      const auto& [names, tally] = *all[i];
      table.rows.push_back({count_text(tally.count), share_text(tally.count, total_.count),
                            format_bytes(tally.bytes), names.second, names.first});
    }
    if (rows < all.size())
      table.note = fmt::format("{} more kinds: -n {}", all.size() - rows, all.size());
    page.tables.push_back(std::move(table));
    return page;
  }

 private:
  using Names = std::pair<std::string, std::string>;  // provider, event

  std::vector<const std::pair<const Names, Tally>*> ranked() const {
    std::vector<const std::pair<const Names, Tally>*> all;
    for (const auto& one : by_name_) all.push_back(&one);
    std::stable_sort(all.begin(), all.end(),
                     [](auto* a, auto* b) { return a->second.count > b->second.count; });
    return all;
  }

  ReportOptions options_;
  std::vector<Tally> by_type_;  // of the trace being read
  std::map<Names, Tally> by_name_;
  Tally total_;
  std::uint64_t lost_ = 0;
};

}  // namespace

extern const ReportKind events_report{
    .name = "events",
    .summary = "how many events of each kind",
    .make = [](const ReportOptions& options) -> std::unique_ptr<Report> {
      return std::make_unique<Events>(options);
    },
};

}  // namespace clrscope::analyze
