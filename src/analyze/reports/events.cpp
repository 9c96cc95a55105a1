// What a trace holds: how many events of each kind.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "analyze/event_name.h"
#include "analyze/losses.h"
#include "analyze/report.h"
#include "analyze/words.h"
#include "model/provider_names.h"
#include "nettrace/payload_events.h"

namespace clrscope::analyze {
namespace {

// The collector's events of many names have one id; each name is counted as a kind of its own.
constexpr std::uint32_t kDynamicId = 39;
constexpr std::size_t kMaxDynamic = 1000;

struct Tally {
  std::uint64_t count = 0;
  std::uint64_t bytes = 0;  // of payload

  void add(const Tally& more) { count += more.count, bytes += more.bytes; }
};

struct EventCount {
  std::string provider{};
  std::string name{};
  std::uint64_t count = 0;
  std::uint64_t payload_bytes = 0;
};
const Shape& shape_of(const EventCount*) {
  using C = EventCount;
  static const auto shape = describe<C>(
      "EventCount", "events of one kind",
      {member<&C::provider>("provider", "provider of the events"),
       member<&C::name>("name", "name of the event"),
       member<&C::count>("count", "number of events"),
       member<&C::payload_bytes>("payloadBytes", Unit::kBytes, "size of their payloads")});
  return shape;
}

struct EventsAnswer {
  std::uint64_t events = 0;
  std::vector<EventCount> by_event{};
};
const Shape& shape_of(const EventsAnswer*) {
  using A = EventsAnswer;
  static const auto shape =
      describe<A>("EventsReport", "events of a trace by kind",
                  {member<&A::events>("events", "number of events"),
                   member<&A::by_event>("byEvent", "kinds of events, most frequent first")});
  return shape;
}

class Events final : public ReportOf<EventsAnswer> {
 public:
  explicit Events(const ReportOptions& options) : options_(options) {}

  void on_batch(const nettrace::Reader& reader, const nettrace::Batch& batch) override {
    if (by_type_.size() < reader.type_count()) by_type_.resize(reader.type_count());
    for (const Event& event : batch.events) {
      auto& tally = by_type_[event.type->index];
      ++tally.count;
      tally.bytes += event.payload.size();
      if (event.type->id == kDynamicId && event.type->provider == kRuntimeProvider)
        count_dynamic(event);
    }
  }

  void end_of_trace(const nettrace::Reader& reader) override {
    for (std::size_t i = 0; i < by_type_.size(); ++i) {
      total_.add(by_type_[i]);
      const auto& type = reader.type(i);
      for (const auto& [name, tally] : dynamic_) {
        if (name.first != i) continue;
        by_name_[{type.provider, "GC/" + name.second}].add(tally);
        by_type_[i].count -= tally.count;
        by_type_[i].bytes -= tally.bytes;
      }
      if (by_type_[i].count > 0) by_name_[{type.provider, event_name(type)}].add(by_type_[i]);
    }
    by_type_.clear();
    dynamic_.clear();
    losses_.end_of_trace(reader);
  }

  EventsAnswer result() const override {
    EventsAnswer answer{.events = total_.count};
    for (const auto* one : ranked()) {
      const auto& [names, tally] = *one;
      answer.by_event.push_back({names.first, names.second, tally.count, tally.bytes});
    }
    return answer;
  }

  Document page() const override {
    Document page;
    page.summary.push_back(fmt::format("{} events of {} kinds, {}.", count_text(total_.count),
                                       by_name_.size(), losses_.text(total_.count)));
    if (by_name_.empty()) return page;
    DocumentTable table{.columns = {">COUNT", ">SHARE", ">PAYLOAD", "EVENT", "PROVIDER"},
                        .keeps = "EVENT"};
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

  void count_dynamic(const Event& event) {
    const auto dynamic = nettrace::read_as<nettrace::GcDynamic>(event);
    if (!dynamic || dynamic->name.empty()) return;
    std::pair<std::size_t, std::string> key{event.type->index, utf8_of(dynamic->name)};
    if (dynamic_.size() >= kMaxDynamic && !dynamic_.contains(key)) return;
    dynamic_[std::move(key)].add({1, event.payload.size()});
  }

  ReportOptions options_;
  std::map<std::pair<std::size_t, std::string>, Tally> dynamic_;  // type, name
  std::vector<Tally> by_type_;                                    // of the trace being read
  std::map<Names, Tally> by_name_;
  Tally total_;
  Losses losses_;
};

}  // namespace

extern const ReportKind events_report =
    report_kind<Events>("events", "how many events of each kind");

}  // namespace clrscope::analyze
