// Allocations by type and place, extrapolated from the runtime's samples of them.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "analyze/allocation_counts.h"
#include "analyze/by_process.h"
#include "analyze/parts.h"
#include "analyze/report.h"
#include "analyze/words.h"

namespace clrscope::analyze {
namespace {

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
    by_process_.on_batch(batch,
                         {nettrace::Known::kAllocationTick, nettrace::Known::kAllocationSampled});
    counts_.on_batch(reader, batch);
  }
  void end_of_trace(const nettrace::Reader& reader) override {
    by_process_.end_of_trace();
    counts_.end_of_trace(reader);
  }

  AllocationsAnswer result() const override;
  Document page() const override;

 private:
  ReportOptions options_;
  AllocationCounts counts_;
  ByProcess by_process_;
};

AllocationsAnswer Allocations::result() const {
  const auto& [all, types, sites] = counts_.best();
  AllocationsAnswer answer{.source = counts_.has_sampled() ? "AllocationSampled" : "AllocationTick",
                           .samples = all.samples,
                           .bytes = whole(all.bytes),
                           .rate = counts_.rate(),
                           .duration = counts_.span().length(),
                           .by_process = by_process_.all()};
  for (const auto* one : ranked(types))
    answer.types.push_back({.type = one->first,
                            .bytes = whole(one->second.bytes),
                            .objects = whole(one->second.objects),
                            .percent = share(one->second.bytes, all.bytes),
                            .samples = one->second.samples});
  for (const auto* one : ranked(sites))
    answer.sites.push_back({.place = place_of(counts_.frame(one->first.first)),
                            .type = one->first.second,
                            .bytes = whole(one->second.bytes),
                            .percent = share(one->second.bytes, all.bytes),
                            .samples = one->second.samples});
  return answer;
}

Document Allocations::page() const {
  const auto& [all, types, sites] = counts_.best();
  if (all.samples == 0)
    return {.summary = {"No sampled allocations in this trace."},
            .next = "Record some: clrscope collect -p PID --profile gc-verbose"};
  Document page;
  page.summary.push_back(
      fmt::format("About {} allocated in {}, {}/s, from {} samples ({}).",
                  format_bytes(whole(all.bytes)), format_duration(counts_.span().length()),
                  format_bytes(whole(counts_.rate())), count_text(all.samples),
                  counts_.has_sampled() ? "random: unbiased" : "one about every 100 KB"));
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
                            counts_.frame(all_sites[i]->first.first).method,
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
