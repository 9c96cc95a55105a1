#include "doctor/side_evidence.h"

#include <algorithm>
#include <tuple>

#include "analyze/allocation_counts.h"
#include "analyze/call_kinds.h"
#include "analyze/repeated_commands.h"
#include "model/provider_names.h"

namespace clrscope::doctor {
namespace {

using std::chrono::nanoseconds;

constexpr std::size_t kMostWhats = 50;
constexpr std::size_t kMostCallers = 3;

// What all of them do with names: events of the recording are of another reader, and perhaps of
// another pid namespace.
template <class... Parts>
class OneTrace : public SideEvidence {
 public:
  void on_batch(const analyze::TraceReader& reader, const analyze::TraceBatch& batch) override {
    if (!batch.events.empty()) process_ = batch.events.front().process;
    std::apply([&](auto&... part) { (part->on_batch(reader, batch), ...); }, parts_);
  }
  void on_names(const analyze::TraceBatch& batch) override {
    for (Event event : batch.events) {
      const auto provider = providers_.of(*event.type);
      event.process = process_;
      std::apply([&](auto&... part) { (part->on_name(event, provider), ...); }, parts_);
    }
  }
  void end(const analyze::TraceReader& reader) override {
    std::apply([&](auto&... part) { (part->end_of_trace(reader), ...); }, parts_);
  }

 protected:
  explicit OneTrace(std::unique_ptr<Parts>... parts) : parts_(std::move(parts)...) {}

  std::tuple<std::unique_ptr<Parts>...> parts_;

 private:
  ProcessId process_{};
  analyze::Providers providers_;  // of the recording's types
};

Place place_of(const analyze::Frame& frame, std::uint64_t count) {
  return {.method = frame.method, .module = frame.module, .count = count};
}

std::vector<CallPlace> places_of(const analyze::Calls& calls) {
  std::vector<CallPlace> places;
  for (const auto* one : calls.ranked()) {
    if (places.size() >= kMostWhats) break;
    const auto& [times, callers] = one->second;
    CallPlace place{.what = one->first,
                    .calls = times.count,
                    .failed = times.failed,
                    .unfinished = times.unfinished,
                    .total = times.total,
                    .longest = times.longest};
    std::vector<std::pair<nanoseconds, Place>> ranked;
    for (const auto& [frame, part] : callers)
      ranked.emplace_back(part.total, place_of(calls.frame(frame), part.count));
    std::ranges::stable_sort(ranked, std::greater{}, [](const auto& it) { return it.first; });
    for (auto& [time, caller] : ranked)
      if (place.callers.size() < kMostCallers) place.callers.push_back(std::move(caller));
    places.push_back(std::move(place));
  }
  return places;
}

class CallEvidence final : public OneTrace<analyze::Calls, analyze::Calls> {
 public:
  CallEvidence()
      : OneTrace(
            std::make_unique<analyze::Calls>(kHttpProvider, analyze::read_http_call),
            std::make_unique<analyze::Calls>(kNameResolutionProvider, analyze::read_dns_call)) {}
  void add_to(Evidence& evidence, nanoseconds length, bool cut) const override {
    evidence.calls = CallFacts{.length = length,
                               .cut = cut,
                               .http = places_of(*std::get<0>(parts_)),
                               .dns = places_of(*std::get<1>(parts_))};
  }
  void add_reason(Evidence& evidence, const std::string& why_not) const override {
    evidence.no_calls = why_not;
  }
};

class CommandEvidence final : public OneTrace<analyze::RepeatedCommands> {
 public:
  CommandEvidence() : OneTrace(std::make_unique<analyze::RepeatedCommands>()) {}
  void add_to(Evidence& evidence, nanoseconds length, bool cut) const override {
    CommandFacts facts{.length = length, .cut = cut};
    const auto& commands = *std::get<0>(parts_);
    for (const auto& one : commands.ranked())
      if (facts.repeated.size() < kMostWhats)
        facts.repeated.push_back(
            {one.text, place_of(commands.frame(one.caller), one.commands), one.units, one.most});
    evidence.commands = std::move(facts);
  }
  void add_reason(Evidence& evidence, const std::string& why_not) const override {
    evidence.no_commands = why_not;
  }
};

class AllocationEvidence final : public OneTrace<analyze::AllocationCounts> {
 public:
  AllocationEvidence() : OneTrace(std::make_unique<analyze::AllocationCounts>()) {}
  void add_to(Evidence& evidence, nanoseconds length, bool cut) const override {
    const auto& counts = *std::get<0>(parts_);
    const auto& [all, types, sites] = counts.best();
    AllocationFacts facts{.length = length, .cut = cut, .samples = all.samples};
    const auto seconds = std::chrono::duration<double>(length).count();
    facts.bytes_per_second = seconds > 0 ? all.bytes / seconds : 0;
    for (const auto& [type, amount] : types) facts.types[type] = amount.bytes / all.bytes;
    for (const auto& [where, amount] : sites) {
      const auto& frame = counts.frame(where.first);
      facts.places.push_back({where.second, frame.method, frame.module, amount.bytes / all.bytes});
    }
    std::ranges::stable_sort(facts.places, std::greater{}, &AllocationPlace::share);
    if (facts.places.size() > kMostWhats) facts.places.resize(kMostWhats);
    evidence.allocations = std::move(facts);
  }
  void add_reason(Evidence& evidence, const std::string& why_not) const override {
    evidence.no_allocations = why_not;
  }
};

}  // namespace

std::unique_ptr<SideEvidence> make_call_evidence() { return std::make_unique<CallEvidence>(); }
std::unique_ptr<SideEvidence> make_command_evidence() {
  return std::make_unique<CommandEvidence>();
}
std::unique_ptr<SideEvidence> make_allocation_evidence() {
  return std::make_unique<AllocationEvidence>();
}

}  // namespace clrscope::doctor
