// Allocations by type and place, extrapolated from the runtime's samples of them.
//
// AllocationSampled (.NET 10 and later) picks bytes at random, one in 102,400 on average, so an
// object of s bytes stands for s / (1 - e^(-s/102400)) bytes. AllocationTick comes once for about
// every 100 KB that a heap hands out and names the object that was next: good shares, coarse sizes.
// When a trace has both, the first is used.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include "analyze/by_process.h"
#include "analyze/parts.h"
#include "analyze/report.h"
#include "analyze/sites.h"
#include "analyze/trace_span.h"
#include "analyze/words.h"

namespace clrscope::analyze {
namespace {

using nettrace::Known;

constexpr double kSamplingDistance = 102'400;

struct Amount {
  std::uint64_t samples = 0;
  double bytes = 0;
  double objects = 0;

  void add(const Amount& more) {
    samples += more.samples;
    bytes += more.bytes;
    objects += more.objects;
  }
};

template <class Map>
auto ranked(const Map& map) {
  std::vector<const typename Map::value_type*> all;
  for (const auto& one : map) all.push_back(&one);
  std::stable_sort(all.begin(), all.end(),
                   [](auto* a, auto* b) { return a->second.bytes > b->second.bytes; });
  return all;
}

std::uint64_t whole(double value) {
  return static_cast<std::uint64_t>(std::llround(std::min(value, 1e18)));
}
double share(double part, double all) { return all > 0 ? 100 * part / all : 0; }

// What one of the two kinds of event said.
struct Tally {
  Amount all;
  std::map<std::string, Amount> types;
  std::map<std::pair<FrameId, std::string>, Amount> sites;
};

struct AllocatedType {
  std::string type{};
  std::uint64_t bytes = 0;
  std::uint64_t objects = 0;
  double percent = 0;
  std::uint64_t samples = 0;
};
const Shape& shape_of(const AllocatedType*) {
  using T = AllocatedType;
  static const auto shape =
      describe<T>("AllocatedType", "estimated allocations of one type",
                  {member<&T::type>("type", "full name of the type"),
                   member<&T::bytes>("bytes", Unit::kBytes, "estimated bytes allocated"),
                   member<&T::objects>("objects", "estimated objects allocated"),
                   member<&T::percent>("percent", Unit::kPercent, "share of all bytes"),
                   member<&T::samples>("samples", "samples the estimate is made from")});
  return shape;
}

struct AllocationSite {
  Place place{};
  std::string type{};
  std::uint64_t bytes = 0;
  double percent = 0;
  std::uint64_t samples = 0;
};
const Shape& shape_of(const AllocationSite*) {
  using S = AllocationSite;
  static const auto shape =
      describe<S>("AllocationSite", "place that allocates objects of a type",
                  {members_of<&S::place>(), member<&S::type>("type", "full name of the type"),
                   member<&S::bytes>("bytes", Unit::kBytes, "estimated bytes allocated"),
                   member<&S::percent>("percent", Unit::kPercent, "share of all bytes"),
                   member<&S::samples>("samples", "samples the estimate is made from")});
  return shape;
}

struct AllocationsAnswer {
  std::string source{};
  std::uint64_t samples = 0;
  std::uint64_t bytes = 0;
  double rate = 0;
  std::chrono::nanoseconds duration{};
  std::vector<AllocatedType> types{};
  std::vector<AllocationSite> sites{};
  std::vector<ProcessCount> by_process{};
};
const Shape& shape_of(const AllocationsAnswer*) {
  using A = AllocationsAnswer;
  static const auto shape = describe<A>(
      "AllocationsReport", "estimated allocations by type and place",
      {member<&A::source>("source", "event the estimate is made from"),
       member<&A::samples>("samples", "number of samples"),
       member<&A::bytes>("bytes", Unit::kBytes, "estimated bytes allocated"),
       member<&A::rate>("bytesPerSecond", Unit::kPerSecond, "estimated bytes per second"),
       member<&A::duration>("durationMs", "duration of the trace"),
       member<&A::types>("types", "types, most bytes first"),
       member<&A::sites>("sites", "places with the type they allocate, most bytes first"),
       member<&A::by_process>("byProcess", "samples of each process")});
  return shape;
}

class Allocations final : public ReportOf<AllocationsAnswer> {
 public:
  explicit Allocations(const ReportOptions& options) : options_(options) {}

  void on_batch(const nettrace::Reader& reader, const nettrace::Batch& batch) override {
    if (!trace_) trace_.emplace(frames_);
    by_process_.on_batch(batch, {Known::kAllocationTick, Known::kAllocationSampled});
    for (const Event& event : batch.events) {
      if (trace_->providers.of(*event.type) != Provider::kRundown) span_.on_event(event.time);
      switch (trace_->known.of(*event.type)) {
        case Known::kAllocationTick:
          on_tick(reader, event);
          break;
        case Known::kAllocationSampled:
          on_sampled(reader, event);
          break;
        default:
          trace_->sites.on_other(event);
      }
    }
    trace_->sites.on_batch_end(batch);
  }

  void end_of_trace(const nettrace::Reader& reader) override {
    span_.end_of_trace(reader);
    by_process_.end_of_trace();
    if (!trace_) return;
    settle(trace_->ticks, ticks_);
    settle(trace_->sampled, sampled_);
    trace_.reset();
  }

  AllocationsAnswer result() const override;
  Document page() const override;

 private:
  using ByStack = std::map<std::pair<StringId, StackId>, Amount>;
  struct Trace {
    explicit Trace(FrameTable& frames) : sites(frames) {}
    KnownEvents known;
    Providers providers;
    Sites sites;
    ByStack ticks;
    ByStack sampled;
  };

  void on_tick(const nettrace::Reader& reader, const Event& event) {
    const auto tick =
        nettrace::read_as<nettrace::AllocationTick>(event, reader.info()->pointer_size);
    if (!tick) return;
    const auto bytes = static_cast<double>(tick->amount);
    const auto size = static_cast<double>(tick->object_size);
    trace_->ticks[key(reader, event, tick->type_name)].add(
        {1, bytes, size > 0 ? std::max(1.0, bytes / size) : 0});
  }
  void on_sampled(const nettrace::Reader& reader, const Event& event) {
    const auto one =
        nettrace::read_as<nettrace::AllocationSampled>(event, reader.info()->pointer_size);
    if (!one || one->object_size == 0) return;
    const auto size = static_cast<double>(one->object_size);
    const auto objects = 1 / -std::expm1(-size / kSamplingDistance);
    trace_->sampled[key(reader, event, one->type_name)].add({1, size * objects, objects});
  }
  std::pair<StringId, StackId> key(const nettrace::Reader& reader, const Event& event, Bytes name) {
    return {names_.intern(utf8_of(name)), trace_->sites.stack_of(reader, event)};
  }
  void settle(const ByStack& from, Tally& to) {
    for (const auto& [what, amount] : from) {
      const std::string type{names_.text(what.first)};
      to.all.add(amount);
      to.types[type].add(amount);
      to.sites[{trace_->sites.site(what.second), type}].add(amount);
    }
  }
  bool has_sampled() const { return sampled_.all.samples > 0; }
  const Tally& best() const { return has_sampled() ? sampled_ : ticks_; }
  double rate() const { return span_.seconds() > 0 ? best().all.bytes / span_.seconds() : 0; }

  ReportOptions options_;
  FrameTable frames_;
  StringTable names_;
  std::optional<Trace> trace_;
  Tally ticks_;
  Tally sampled_;
  TraceSpan span_;
  ByProcess by_process_;
};

AllocationsAnswer Allocations::result() const {
  const auto& [all, types, sites] = best();
  AllocationsAnswer answer{.source = has_sampled() ? "AllocationSampled" : "AllocationTick",
                           .samples = all.samples,
                           .bytes = whole(all.bytes),
                           .rate = rate(),
                           .duration = span_.length(),
                           .by_process = by_process_.all()};
  for (const auto* one : ranked(types))
    answer.types.push_back({.type = one->first,
                            .bytes = whole(one->second.bytes),
                            .objects = whole(one->second.objects),
                            .percent = share(one->second.bytes, all.bytes),
                            .samples = one->second.samples});
  for (const auto* one : ranked(sites))
    answer.sites.push_back({.place = place_of(frames_.frame(one->first.first)),
                            .type = one->first.second,
                            .bytes = whole(one->second.bytes),
                            .percent = share(one->second.bytes, all.bytes),
                            .samples = one->second.samples});
  return answer;
}

Document Allocations::page() const {
  const auto& [all, types, sites] = best();
  if (all.samples == 0)
    return {.summary = {"No sampled allocations in this trace."},
            .next = "Record some: clrscope collect -p PID --profile gc-verbose"};
  Document page;
  page.summary.push_back(fmt::format(
      "About {} allocated in {:.1f} s, {}/s, from {} samples ({}).", format_bytes(whole(all.bytes)),
      span_.seconds(), format_bytes(whole(rate())), count_text(all.samples),
      has_sampled() ? "random: unbiased" : "one about every 100 KB"));
  const auto limit = options_.rows != 0 ? options_.rows : 10;
  DocumentTable by_type{.title = "By type", .columns = {">SHARE", ">BYTES", ">SAMPLES", "TYPE"}};
  const auto all_types = ranked(types);
  for (std::size_t i = 0; i < std::min(limit, all_types.size()); ++i)
    by_type.rows.push_back({percent_text(share(all_types[i]->second.bytes, all.bytes)),
                            format_bytes(whole(all_types[i]->second.bytes)),
                            count_text(all_types[i]->second.samples), all_types[i]->first});
  if (limit < all_types.size())
    by_type.note = fmt::format("{} more: -n {}", all_types.size() - limit, all_types.size());
  page.tables.push_back(std::move(by_type));
  DocumentTable by_site{
      .title = "By place", .columns = {">SHARE", ">BYTES", "METHOD", "TYPE"}, .keeps = "METHOD"};
  const auto all_sites = ranked(sites);
  for (std::size_t i = 0; i < std::min(limit, all_sites.size()); ++i)
    by_site.rows.push_back({percent_text(share(all_sites[i]->second.bytes, all.bytes)),
                            format_bytes(whole(all_sites[i]->second.bytes)),
                            frames_.frame(all_sites[i]->first.first).method,
                            all_sites[i]->first.second});
  if (limit < all_sites.size())
    by_site.note = fmt::format("{} more: -n {}", all_sites.size() - limit, all_sites.size());
  page.tables.push_back(std::move(by_site));
  by_process_.add_table(page, "SAMPLES");
  return page;
}

}  // namespace

extern const ReportKind allocations_report =
    report_kind<Allocations>("allocations", "allocated bytes by type and place");

}  // namespace clrscope::analyze
