#include "ops/agent_methods.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "collect/agent/probes.h"
#include "ops/agent_place.h"
#include "ops/probe_progress.h"

namespace clrscope::ops {
namespace {

using std::chrono::nanoseconds;

constexpr std::chrono::seconds kAnswer{10};
constexpr std::chrono::seconds kLook{1};
constexpr std::size_t kMostRows = 40;

bool wait_for_end(const ListenRequest& request, const collect::AgentConnection& connection) {
  const StopCondition stop{.fds = request.stop_fds, .deadline = Deadline{request.duration}};
  while (!stop.is_met())
    if (stop.wait(connection.fd(), kLook)) return false;
  return !connection.has_ended();
}

void put_methods(const collect::AgentArena& arena, const collect::AgentProbes& probes,
                 AgentMethods& out) {
  for (auto& method : probes.methods()) {
    ++out.chosen;
    if (method.name.empty()) method.name = "unknown";
    if (method.state == wire::ProbeState::kRefused) {
      ++out.not_measured_count;
      out.not_measured.push_back(unmeasured(method));
    }
    if (method.enters == 0 && method.leaves == 0) continue;
    ++out.measured;
    out.calls += method.leaves;
    out.methods.push_back(
        {.method = std::move(method.name),
         .calls = method.leaves,
         .running = method.enters > method.leaves ? method.enters - method.leaves : 0,
         .total = arena.duration_of(method.total),
         .self = arena.duration_of(method.self),
         .mean = arena.duration_of(method.leaves > 0 ? method.total / method.leaves : 0),
         .shortest = arena.duration_of(method.shortest),
         .longest = arena.duration_of(method.longest)});
  }
  std::ranges::sort(out.methods, [](const auto& a, const auto& b) {
    return std::pair{b.self, a.method} < std::pair{a.self, b.method};
  });
  analyze::order_and_cut(out.not_measured);
  const auto& header = probes.header();
  out.modules = header.modules.load();
  out.skipped_modules = header.skipped_modules.load();
  out.skipped_trivial = header.skipped_trivial.load();
  out.skipped_small = header.skipped_small.load();
  out.compiled_again = header.inliners.load();
  out.not_counted = header.not_counted.load();
}

}  // namespace

Result<AgentMethods> agent_methods(const MethodsRequest& request) {
  if (request.include.empty())
    return fail(Errc::kUsage, "methods needs --include PATTERN")
        .hint("name a namespace, a type or a method, such as Shop.Orders or 'Shop.*.Save*'");
  auto target = TRY(find_target(request.listen.target, std::chrono::seconds{5}, -1));
  auto loaded = TRY(load_agent(target));
  auto& connection = loaded.connection;
  AgentMethods out{.pid = target.process.pid};
  const auto measure = [&]() -> Result<> {
    const auto arena = TRY(connection.open_arena(Deadline{kAnswer}));
    auto probes = TRY(connection.open_probes(Deadline{kAnswer}));
    TRY(probes.set_order({.include = request.include,
                          .exclude = request.exclude,
                          .smallest_il = request.smallest_il,
                          .share_ppm = static_cast<std::uint32_t>(request.share_percent * 10'000),
                          .with_accessors = request.with_accessors,
                          .closed = request.closed}));
    const auto asked = TraceClock::now();
    const StopCondition stop{.fds = request.listen.stop_fds};
    (void)TRY(change_methods(probes, connection, kChangeMethods, stop));  // stopped: ends below
    const auto started = TraceClock::now();
    out.applied_in = started - asked;
    const bool alive = wait_for_end(request.listen, connection);
    out.duration = TraceClock::now() - started;
    if (alive) {
      TRY(take_back_methods(probes, connection, stop));
      out.reverted = true;
    }
    put_methods(arena, probes, out);
    return {};
  };
  auto measured = measure();
  if (!measured && !loaded.already) {
    // Nothing was changed yet when the agent still can leave.
    (void)unload_agent(std::move(loaded.connection));
  }
  if (!measured) return fail(measured.error());
  return out;
}

const Shape& shape_of(const MeasuredMethod*) {
  using A = MeasuredMethod;
  static const auto shape = describe<A>(
      "AgentMeasuredMethod", "calls and times of one method",
      {member<&A::method>("method", "name of the method"),
       member<&A::calls>("calls", "calls that began and ended while it was measured"),
       member_unless_empty<&A::running>("running", "calls that had not ended"),
       member<&A::total>("totalMs", "time in the method and in what it called"),
       member<&A::self>("selfMs", "the same without the time in other measured methods"),
       member<&A::mean>("meanMs", "mean time of a call"),
       member<&A::shortest>("shortestMs", "shortest call"),
       member<&A::longest>("longestMs", "longest call")});
  return shape;
}

const Shape& shape_of(const AgentMethods*) {
  using A = AgentMethods;
  static const auto shape = describe<A>(
      "AgentMethods", "calls and times of methods",
      {member<&A::pid>("pid", "process id"),
       member<&A::duration>("durationMs", "how long methods were measured"),
       member<&A::chosen>("chosen", "methods that the patterns match"),
       member<&A::measured>("measured", "methods that were called"),
       member<&A::calls>("calls", "calls of all of them"),
       member<&A::methods>("methods", "methods that were called, most time in themselves first"),
       member<&A::not_measured>("notMeasured", "methods that were not measured; at most 1000"),
       member<&A::not_measured_count>("notMeasuredCount", "how many they are"),
       member<&A::modules>("modules", "modules that were searched"),
       member<&A::skipped_modules>("skippedModules",
                                   "modules that can be unloaded or are made at run time"),
       member<&A::skipped_trivial>("skippedTrivial", "getters, setters and empty methods"),
       member<&A::skipped_small>("skippedSmall", "methods below the smallest IL size"),
       member<&A::compiled_again>("compiledAgain",
                                  "other methods that were compiled again, since they had inlined "
                                  "a measured one"),
       member<&A::not_counted>("notCounted", "calls on too many threads to count"),
       member<&A::reverted>("reverted", "whether all methods have their own code again"),
       member<&A::applied_in>("appliedMs", "time to choose the methods and ask for new code")});
  return shape;
}

Document methods_document(const AgentMethods& seen) {
  Document page;
  page.summary.push_back(fmt::format("{} calls of {} methods in {}; {} methods match.", seen.calls,
                                     seen.measured, format_duration(seen.duration), seen.chosen));
  if (seen.not_measured_count > 0 || seen.skipped_trivial + seen.skipped_small > 0)
    page.summary.push_back(
        fmt::format("Not measured: {} methods (see below), {} accessors, {} small methods.",
                    seen.not_measured_count, seen.skipped_trivial, seen.skipped_small));
  if (seen.skipped_modules > 0)
    page.summary.push_back(fmt::format(
        "{} modules can be unloaded or are made at run time: not searched.", seen.skipped_modules));
  if (seen.not_counted > 0)
    page.summary.push_back(
        fmt::format("{} calls on further threads not counted.", seen.not_counted));
  page.summary.push_back(
      seen.reverted ? "All methods have their own code again. The agent stays in the process, idle."
                    : "The process ended.");
  if (!seen.methods.empty()) {
    DocumentTable table{.columns = {">CALLS", ">TOTAL", ">SELF", ">MEAN", ">LONGEST", "METHOD"}};
    for (std::size_t i = 0; i < std::min(seen.methods.size(), kMostRows); ++i) {
      const auto& one = seen.methods[i];
      table.rows.push_back({std::to_string(one.calls), format_duration(one.total),
                            format_duration(one.self), format_duration(one.mean),
                            format_duration(one.longest), one.method});
    }
    page.tables.push_back(std::move(table));
  }
  if (!seen.not_measured.empty())
    page.tables.push_back(analyze::unmeasured_table(seen.not_measured, kMostRows));
  return page;
}

}  // namespace clrscope::ops
