#include "store/compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <numeric>

#include "base/text.h"

namespace clrscope::store {
namespace {

using std::chrono::nanoseconds;

// A percentile is judged if so many requests are beyond it on each side.
constexpr double kBeyond = 10;
constexpr double kLeastChange = 5;           // percent: less is not worth a word
constexpr double kLeastErrorChange = 0.1;    // percentage points
constexpr std::uint64_t kLeastSamples = 20;  // of the CPU, on each side: else 22 % is chance
constexpr double kSurely = 2.6;              // standard errors: wrong in one of 100 routes

// Where the bounds of confidence intervals are looked up. Eighths, so that percent / 100 is the
// same number in every engine.
constexpr std::array kGrid = {30.0,  35.0, 40.0,  42.5,   45.0,   47.5,  49.0, 51.0,  52.5,
                              55.0,  57.5, 60.0,  65.0,   70.0,   91.0,  92.0, 93.0,  93.5,
                              94.0,  94.5, 94.75, 95.25,  95.5,   96.0,  96.5, 97.0,  98.0,
                              98.25, 98.5, 98.75, 98.875, 99.125, 99.25, 99.5, 99.75, 99.875};

struct Interval {
  nanoseconds low{}, high{};
};

// Of a percentile, without any assumption about the durations: the ranks that lie two standard
// errors from it, rounded outward to the grid.
Interval interval_of(const Series& series, double p) {
  const auto count = static_cast<double>(series.latency.requests);
  const auto error = 200 * std::sqrt(p / 100 * (1 - p / 100) / count);
  Interval interval{.low = nanoseconds::min(), .high = series.latency.max};
  for (std::size_t i = 0; i < kGrid.size() && i < series.percentiles.size(); ++i) {
    if (kGrid[i] <= p - error) interval.low = series.percentiles[i];
    if (kGrid[i] >= p + error) {
      interval.high = series.percentiles[i];
      break;
    }
  }
  return interval;
}

struct Judged {
  std::optional<double> change{};  // percent
  int sign = 0;                    // 1: surely longer, -1: surely shorter
};

Judged judge(const Series& before, const Series& after, double p, nanoseconds Latency::*member) {
  const auto beyond = [&](const Series& one) {
    return static_cast<double>(one.latency.requests) * (1 - p / 100) + 1e-9;
  };
  if (beyond(before) < kBeyond || beyond(after) < kBeyond) return {};
  const auto was = static_cast<double>((before.latency.*member).count());
  const auto is = static_cast<double>((after.latency.*member).count());
  if (was <= 0) return {};
  Judged judged{.change = 100 * (is - was) / was};
  const auto old = interval_of(before, p), now = interval_of(after, p);
  if (*judged.change >= kLeastChange && now.low > old.high) judged.sign = 1;
  if (*judged.change <= -kLeastChange && now.high < old.low) judged.sign = -1;
  return judged;
}

// 1: surely more errors, -1: surely fewer.
int judge_errors(const Latency& before, const Latency& after) {
  const auto n = static_cast<double>(before.requests), m = static_cast<double>(after.requests);
  const auto errors = static_cast<double>(before.errors + after.errors);
  if (n < 2 * kBeyond || m < 2 * kBeyond || errors < 5) return 0;
  const auto was = static_cast<double>(before.errors) / n,
             is = static_cast<double>(after.errors) / m;
  const auto all = errors / (n + m);
  const auto error = std::sqrt(all * (1 - all) * (1 / n + 1 / m));
  if (std::abs(is - was) * 100 < kLeastErrorChange || std::abs(is - was) < kSurely * error)
    return 0;
  return is > was ? 1 : -1;
}

ComparedSide side_of(const Series& series) {
  const auto& latency = series.latency;
  ComparedSide side{.latency = latency};
  if (latency.requests > 0)
    side.error_percent =
        100 * static_cast<double>(latency.errors) / static_cast<double>(latency.requests);
  if (latency.sampled > 0)
    side.running_each = latency.running / static_cast<std::int64_t>(latency.sampled);
  if (latency.sampled > 0 && series.samples > 0)
    side.cpu_each = series.cpu / static_cast<std::int64_t>(latency.sampled);
  return side;
}

std::string changed(std::string_view what, nanoseconds was, nanoseconds is, double change) {
  return fmt::format("{} {} → {} ({:+.0f} %)", what, format_duration(was), format_duration(is),
                     change);
}

std::optional<double> percent_of(std::optional<nanoseconds> was, std::optional<nanoseconds> is) {
  if (!was || !is || was->count() <= 0) return {};
  return 100 * (static_cast<double>(is->count()) / static_cast<double>(was->count()) - 1);
}

RouteChange change_of(std::string route, const Series& before, const Series& after) {
  RouteChange one{.route = std::move(route), .before = side_of(before), .after = side_of(after)};
  const auto& was = before.latency;
  const auto& is = after.latency;
  if (was.requests == 0 || is.requests == 0) {
    one.verdict = was.requests == 0 ? Verdict::kNew : Verdict::kGone;
    one.reason = was.requests == 0 ? "no requests before" : "no requests after";
    return one;
  }
  one.running = percent_of(one.before.running_each, one.after.running_each);
  if (before.samples >= kLeastSamples && after.samples >= kLeastSamples)
    one.cpu = percent_of(one.before.cpu_each, one.after.cpu_each);
  const auto p50 = judge(before, after, 50, &Latency::p50);
  const auto p95 = judge(before, after, 95, &Latency::p95);
  const auto p99 = judge(before, after, 99, &Latency::p99);
  one.p50 = p50.change, one.p95 = p95.change, one.p99 = p99.change;
  std::vector<std::string> said;
  bool worse = false, better = false;
  const auto say = [&](int sign, std::string text) {
    (sign > 0 ? worse : better) = true;
    said.push_back(std::move(text));
  };
  if (p50.sign != 0) say(p50.sign, changed("p50", was.p50, is.p50, *p50.change));
  if (p95.sign != 0) say(p95.sign, changed("p95", was.p95, is.p95, *p95.change));
  if (p99.sign != 0) say(p99.sign, changed("p99", was.p99, is.p99, *p99.change));
  if (const auto sign = judge_errors(was, is); sign != 0)
    say(sign, fmt::format("errors {:.2g} % → {:.2g} %", one.before.error_percent,
                          one.after.error_percent));
  one.verdict = worse && better ? Verdict::kMixed
                : worse         ? Verdict::kWorse
                : better        ? Verdict::kBetter
                : p50.change    ? Verdict::kSame
                                : Verdict::kTooFew;
  if (!said.empty())
    one.reason = fmt::format("{}", fmt::join(said, "; "));
  else if (one.verdict == Verdict::kTooFew)
    one.reason = fmt::format("{} and {} requests are too few to tell", was.requests, is.requests);
  else
    one.reason = p95.change ? "no significant change"
                            : "no significant change of the median; too few requests for p95";
  return one;
}

int order_of(Verdict verdict) {
  switch (verdict) {
    case Verdict::kWorse:
      return 0;
    case Verdict::kMixed:
      return 1;
    case Verdict::kBetter:
      return 2;
    case Verdict::kNew:
    case Verdict::kGone:
      return 3;
    case Verdict::kSame:
      return 4;
    case Verdict::kTooFew:
      break;
  }
  return 5;
}

Result<std::map<std::string, Series>> groups_of(Store& store, const Selection& selection,
                                                GroupBy by, WallTime now) {
  std::map<std::string, Series> groups;
  for (auto& one : TRY(store.series({.selection = selection,
                   .by = by,
                   .now = now,
                   .percentiles = {kGrid.begin(), kGrid.end()},
                   .cpu = true})))
    groups[one.group] = std::move(one);
  return groups;
}

}  // namespace

Result<Comparison> compare(Store& store, const CompareQuery& query) {
  Comparison comparison;
  auto before = TRY(groups_of(store, query.before, GroupBy::kService, query.now));
  auto after = TRY(groups_of(store, query.after, GroupBy::kService, query.now));
  comparison.overall = change_of("", before[query.before.service], after[query.after.service]);
  before = TRY(groups_of(store, query.before, GroupBy::kRoute, query.now));
  after = TRY(groups_of(store, query.after, GroupBy::kRoute, query.now));
  for (const auto& [route, series] : before) after.try_emplace(route);
  for (const auto& [route, series] : after)
    comparison.routes.push_back(change_of(route, before[route], series));
  std::stable_sort(comparison.routes.begin(), comparison.routes.end(),
                   [](const RouteChange& a, const RouteChange& b) {
                     const auto x = order_of(a.verdict), y = order_of(b.verdict);
                     return x != y ? x < y : a.after.latency.running > b.after.latency.running;
                   });
  return comparison;
}

FlameChange merge_flames(const Flame& before, const Flame& after) {
  struct Node {
    std::uint32_t name = 0;
    std::uint64_t self[2]{}, total = 0;
    std::map<std::uint32_t, std::size_t> children{};  // by name
  };
  FlameChange merged{.before_requests = before.requests,
                     .after_requests = after.requests,
                     .before_samples = before.spans + before.samples,
                     .after_samples = after.spans + after.samples,
                     .before_total = before.total,
                     .after_total = after.total};
  std::map<std::string_view, std::uint32_t> known;
  std::vector<Node> nodes(1);
  for (const int side : {0, 1}) {
    const auto& flame = side == 0 ? before : after;
    std::vector<std::uint32_t> names;
    for (const auto& name : flame.names) {
      const auto [at, is_new] =
          known.try_emplace(name, static_cast<std::uint32_t>(merged.names.size()));
      if (is_new) merged.names.push_back(name);
      names.push_back(at->second);
    }
    std::vector<std::size_t> above{0};  // the last node of each depth
    for (std::size_t i = 0; i < flame.name.size(); ++i) {
      const auto name = names[flame.name[i]];
      above.resize(flame.depth[i] + std::size_t{1});
      const auto [at, is_new] = nodes[above.back()].children.try_emplace(name, nodes.size());
      const auto node = at->second;
      if (is_new) nodes.push_back({.name = name});
      nodes[node].self[side] += flame.self_ns[i];
      above.push_back(node);
    }
  }
  // A child is younger than its parent.
  for (auto i = nodes.size(); i-- > 0;) {
    nodes[i].total += nodes[i].self[0] + nodes[i].self[1];
    for (const auto& [name, child] : nodes[i].children) nodes[i].total += nodes[child].total;
  }
  struct Open {
    std::size_t node = 0;
    std::uint32_t depth = 0;
  };
  std::vector<Open> open;
  const auto push_children = [&](const Node& node, std::uint32_t depth) {
    std::vector<std::size_t> children;
    for (const auto& [name, child] : node.children) children.push_back(child);
    std::sort(children.begin(), children.end(), [&](std::size_t a, std::size_t b) {
      return nodes[a].total != nodes[b].total
                 ? nodes[a].total < nodes[b].total
                 : merged.names[nodes[a].name] > merged.names[nodes[b].name];
    });
    for (const auto child : children) open.push_back({child, depth});
  };
  push_children(nodes[0], 0);
  while (!open.empty()) {
    const auto [at, depth] = open.back();
    open.pop_back();
    merged.name.push_back(nodes[at].name);
    merged.depth.push_back(depth);
    merged.before_self_ns.push_back(nodes[at].self[0]);
    merged.after_self_ns.push_back(nodes[at].self[1]);
    push_children(nodes[at], depth + 1);
  }
  return merged;
}

Result<FlameChange> compare_flames(Store& store, const FlameQuery& before,
                                   const FlameQuery& after) {
  const auto first = TRY(store.flame(before));
  return merge_flames(first, TRY(store.flame(after)));
}

std::span<const std::string_view> names_of(Verdict) {
  static constexpr std::string_view kNames[] = {"same",   "better", "worse", "mixed",
                                                "tooFew", "new",    "gone"};
  return kNames;
}

const Shape& shape_of(const ComparedSide*) {
  using S = ComparedSide;
  static const auto shape = describe<S>(
      "FleetComparedSide", "requests of one side of a comparison",
      {members_of<&S::latency>(),
       member<&S::error_percent>("errorPercent", Unit::kPercent, "share of failed requests"),
       member<&S::running_each>("runningEachMs",
                                "mean time that threads worked for a sampled request"),
       member<&S::cpu_each>("cpuEachMs",
                            "mean CPU time of a sampled request; none: no CPU samples")});
  return shape;
}

const Shape& shape_of(const RouteChange*) {
  using C = RouteChange;
  static const auto shape = describe<C>(
      "FleetRouteChange", "a route on both sides of a comparison",
      {member_unless_empty<&C::route>("route", "method and route template; none: all routes"),
       member<&C::before>("before", "side that is compared with"),
       member<&C::after>("after", "side that is looked at"),
       member<&C::p50>("p50Percent", Unit::kPercent,
                       "change of the median; none: too few requests"),
       member<&C::p95>("p95Percent", Unit::kPercent, "change of the 95th percentile"),
       member<&C::p99>("p99Percent", Unit::kPercent, "change of the 99th percentile"),
       member<&C::running>("runningPercent", Unit::kPercent,
                           "change of the running time of a sampled request"),
       member<&C::cpu>("cpuPercent", Unit::kPercent,
                       "change of the CPU time of a sampled request; none: fewer than 20 CPU "
                       "samples on a side"),
       member<&C::verdict>("verdict",
                           "same, better, worse, mixed, tooFew, new or gone; a change counts if "
                           "the 95 % confidence intervals of both sides are apart"),
       member<&C::reason>("reason", "what the verdict is based on")});
  return shape;
}

const Shape& shape_of(const Comparison*) {
  using C = Comparison;
  static const auto shape =
      describe<C>("FleetComparison", "two selections of requests side by side",
                  {member<&C::overall>("overall", "all selected requests"),
                   member<&C::routes>("routes", "worse ones first, then by running time")});
  return shape;
}

const Shape& shape_of(const FlameChange*) {
  using F = FlameChange;
  static const auto shape = describe<F>(
      "FleetFlameChange",
      "merged call trees of two selections as one tree; nodes in preorder, 0 where a side does "
      "not have a node",
      {member<&F::before_requests>("beforeRequests", "requests with spans or CPU samples, before"),
       member<&F::after_requests>("afterRequests", "the same, after"),
       member<&F::before_samples>("beforeSamples", "spans or CPU samples of these, before"),
       member<&F::after_samples>("afterSamples", "the same, after"),
       member<&F::before_total>("beforeTotalMs", "time of all of them, before"),
       member<&F::after_total>("afterTotalMs", "the same, after"),
       member<&F::names>("names", "method names"),
       member<&F::name>("name", "per node: index in names"),
       member<&F::depth>("depth",
                         "per node: 0 for a root; the parent is the nearest node before it with "
                         "a smaller depth"),
       member<&F::before_self_ns>("beforeSelfNs", "per node: time of its own before, nanoseconds"),
       member<&F::after_self_ns>("afterSelfNs", "per node: time of its own after, nanoseconds")});
  return shape;
}

}  // namespace clrscope::store
