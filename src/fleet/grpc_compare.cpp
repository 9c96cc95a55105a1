// Comparisons over gRPC: the same answers as /fleet/compare and /fleet/compare/flame.
#include "fleet/convert.h"
#include "fleet/grpc_entry.h"
#include "fleet/grpc_services.h"
#include "store/compare.h"

namespace clrscope::fleet {
namespace {

std::uint64_t unsigned_ns(std::chrono::nanoseconds time) {
  return static_cast<std::uint64_t>(time.count());
}

void fill(const store::ComparedSide& from, v1::ComparedSide& to) {
  fleet::fill(from.latency, *to.mutable_latency());
  to.set_error_percent(from.error_percent);
  if (from.running_each) to.set_running_each_ns(unsigned_ns(*from.running_each));
  if (from.cpu_each) to.set_cpu_each_ns(unsigned_ns(*from.cpu_each));
}

void fill(const store::RouteChange& from, v1::RouteChange& to) {
  to.set_route(from.route);
  fill(from.before, *to.mutable_before());
  fill(from.after, *to.mutable_after());
  if (from.p50) to.set_p50_percent(*from.p50);
  if (from.p95) to.set_p95_percent(*from.p95);
  if (from.p99) to.set_p99_percent(*from.p99);
  if (from.running) to.set_running_percent(*from.running);
  if (from.cpu) to.set_cpu_percent(*from.cpu);
  static_assert(static_cast<int>(store::Verdict::kGone) == v1::RouteChange::VERDICT_GONE);
  to.set_verdict(static_cast<v1::RouteChange::Verdict>(from.verdict));
  to.set_reason(from.reason);
}

void fill(const store::FlameChange& from, v1::CompareFlameAnswer& to) {
  to.set_before_requests(from.before_requests);
  to.set_after_requests(from.after_requests);
  to.set_before_samples(from.before_samples);
  to.set_after_samples(from.after_samples);
  to.set_before_total_ns(unsigned_ns(from.before_total));
  to.set_after_total_ns(unsigned_ns(from.after_total));
  to.mutable_names()->Add(from.names.begin(), from.names.end());
  to.mutable_name()->Add(from.name.begin(), from.name.end());
  to.mutable_depth()->Add(from.depth.begin(), from.depth.end());
  to.mutable_before_self_ns()->Add(from.before_self_ns.begin(), from.before_self_ns.end());
  to.mutable_after_self_ns()->Add(from.after_self_ns.begin(), from.after_self_ns.end());
}

template <class Request>
Result<store::CompareQuery> compared_in(const Request& request) {
  store::CompareQuery query{.before = selection_of(request.before()),
                            .after = selection_of(request.after()),
                            .now = wall_now()};
  for (auto* side : {&query.before, &query.after}) {
    if (side->service.empty())
      return fail(Errc::kUsage, "before.service and after.service are required");
    side->range.to = std::min(side->range.to, query.now.time_since_epoch().count());
  }
  return query;
}

}  // namespace

grpc::Status QueryService::Compare(grpc::ServerContext* context, const v1::CompareRequest* request,
                                   v1::CompareAnswer* answer) {
  const auto entry = enter(*context, access_, Scope::kRead, "gRPC Compare");
  if (!entry.ok()) return entry.status;
  const auto turn = turn_of(context);
  if (!turn.ok()) return turn.status();
  const auto query = compared_in(*request);
  if (!query) return status_of(query.error());
  const auto found = store::compare(entry.store(), *query);
  if (!found) return status_of(found.error());
  fill(found->overall, *answer->mutable_overall());
  for (const auto& one : found->routes) fill(one, *answer->add_routes());
  return grpc::Status::OK;
}

grpc::Status QueryService::CompareFlame(grpc::ServerContext* context,
                                        const v1::CompareFlameRequest* request,
                                        v1::CompareFlameAnswer* answer) {
  const auto entry = enter(*context, access_, Scope::kRead, "gRPC CompareFlame");
  if (!entry.ok()) return entry.status;
  const auto turn = turn_of(context);
  if (!turn.ok()) return turn.status();
  const auto query = compared_in(*request);
  if (!query) return status_of(query.error());
  store::FlameQuery before{
      .selection = query->before,
      .from_percentile = request->from_percentile(),
      .to_percentile = request->to_percentile() == 0 ? 100 : request->to_percentile(),
      .weight = request->weight() == v1::FLAME_WEIGHT_CPU ? store::FlameWeight::kCpu
                                                          : store::FlameWeight::kRunning};
  auto after = before;
  after.selection = query->after;
  const auto found = store::compare_flames(entry.store(), before, after);
  if (!found) return status_of(found.error());
  fill(*found, *answer);
  return grpc::Status::OK;
}

}  // namespace clrscope::fleet
