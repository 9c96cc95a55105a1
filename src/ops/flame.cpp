#include "ops/flame.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <numeric>

#include "analyze/request_events.h"
#include "base/json.h"
#include "base/text.h"
#include "ops/trace_file.h"

namespace clrscope::ops {
namespace {

using analyze::FlameGraph;

std::string title_of(const FlameGraph& graph, const std::string& path) {
  if (graph.processes.size() == 1) {
    const auto& only = graph.processes[0];
    const auto pid = static_cast<std::int32_t>(only.process);
    return only.name.empty() ? fmt::format("process {}", pid)
                             : fmt::format("{} ({})", only.name, pid);
  }
  return path == "-" ? "standard input" : std::filesystem::path{path}.filename().string();
}

// Time of each function: itself, and with what it called, recursion once.
struct Times {
  std::vector<std::uint64_t> self, total;
};

Times times_by_name(const FlameGraph& graph) {
  Times times{std::vector<std::uint64_t>(graph.names.size()),
              std::vector<std::uint64_t>(graph.names.size())};
  const bool waiting = graph.samples == 0;
  std::vector<std::uint32_t> last_in(graph.names.size());
  for (std::uint32_t turn = 1; turn <= graph.rows.size(); ++turn) {
    const auto& row = graph.rows[turn - 1];
    const auto us = waiting ? row.off_us : row.on_us;
    times.self[graph.nodes[row.node].name] += us;
    for (auto at = row.node; at != 0; at = graph.nodes[at].parent) {
      const auto name = graph.nodes[at].name;
      if (last_in[name] == turn) continue;
      last_in[name] = turn;
      times.total[name] += us;
    }
  }
  return times;
}

}  // namespace

namespace {

Result<FlameRead> read_into(analyze::FlameBuilder builder, const std::string& path,
                            const OnTraceProgress& on_progress, const TraceLimits& limits) {
  const TraceVisitor visitor{
      .on_batch = [&](const auto& reader, const auto& batch) { builder.on_batch(reader, batch); },
      .on_end = [&](const auto& reader) { builder.end_of_trace(reader); },
      .on_chunk = [&] { return check_samples(path, builder.samples(), limits); },
  };
  const auto read = TRY(read_trace(path, visitor, on_progress, limits));
  FlameRead flame{.graph = std::move(builder).finish(),
                  .events = read.summary.events,
                  .lost = read.summary.lost,
                  .damage = damage_line(read)};
  flame.title = title_of(flame.graph, path);
  return flame;
}

}  // namespace

Result<FlameRead> read_flame(const std::string& path, const OnTraceProgress& on_progress,
                             const TraceLimits& limits) {
  return read_into(analyze::FlameBuilder{}, path, on_progress, limits);
}

Result<FlameRead> read_route_flame(const std::string& path, const std::string& route,
                                   const TraceLimits& limits) {
  if (path == "-")
    return fail(Errc::kUsage, "--route needs a file: the trace is read twice")
        .hint("save the trace first");
  analyze::RequestParts parts{route};
  analyze::RequestEventReader requests{[&](const RequestTrace& one) { parts.add(one); }};
  (void)TRY(read_trace(path,
                       {.on_batch =
                            [&](const auto&, const nettrace::Batch& batch) {
                              for (const auto& event : batch.events) requests.on_event(event);
                            },
                        .on_end = [&](const auto&) { requests.end_of_trace(); }},
                       {}, limits));
  if (parts.seen().requests == 0) {
    if (parts.routes().empty())
      return fail(Errc::kNotFound, "{} contains no profiled requests", display_name(path))
          .hint("record them with clrscope requests -p PID --include PATTERN -o FILE.nettrace");
    return fail(Errc::kNotFound, "{} contains no request of the route {}", display_name(path),
                route)
        .hint("choose one of: {}", fmt::join(parts.routes(), ", "));
  }
  parts.finish();
  auto flame = TRY(read_into(analyze::FlameBuilder{analyze::FlameBuilder::kMaxNodes,
                                                   [&](ThreadId thread, TraceTime time) {
                                                     return parts.take(thread, time);
                                                   }},
                             path, {}, limits));
  flame.route = parts.seen();
  flame.title = fmt::format("{} · CPU time of {}", flame.title, route);
  return flame;
}

std::string route_line(const RouteSamples& route) {
  return fmt::format(
      "{}: {} requests, {} of them sampled, {} CPU samples in these. Not in the graph: {} CPU "
      "samples in requests of other routes, {} in no sampled request.",
      route.route, format_count(route.requests), format_count(route.sampled),
      format_count(route.samples), format_count(route.other), format_count(route.outside));
}

Error no_samples(const FlameRead& read, const std::string& path) {
  if (read.route)
    return {Errc::kNotFound,
            fmt::format("{} contains no CPU samples of the route: {}", display_name(path),
                        route_line(*read.route)),
            "profile for longer, with --sample 1 and without --no-samples"};
  return {Errc::kNotFound,
          fmt::format("{} contains no stack samples ({} events){}", display_name(path),
                      format_count(read.events),
                      read.damage.empty() ? "" : ", as far as it can be read: " + read.damage),
          "record samples with clrscope collect -p PID --profile cpu-sampling, or --profile "
          "thread-time for an idle process"};
}

std::string flame_json(const FlameRead& read) {
  auto answer = analyze::flame_answer(read.graph, read.title);
  answer.broken_stacks = read.broken_stacks;
  if (!read.damage.empty()) answer.damage = read.damage;
  answer.route = read.route;
  JsonWriter json;
  write_json(json, answer);
  return std::move(json).take() + "\n";
}

std::string flame_text(const FlameRead& read, std::size_t rows) {
  const auto& graph = read.graph;
  auto out = fmt::format("{}: {} samples on CPU, {} waiting ({} unfinished), lost {}\n\n",
                         read.title, format_count(graph.samples), format_count(graph.waits),
                         format_count(graph.unfinished), format_count(graph.lost));
  if (read.route) out += route_line(*read.route) + "\n\n";
  const auto times = times_by_name(graph);
  const auto whole = std::accumulate(times.self.begin(), times.self.end(), std::uint64_t{0});
  if (whole == 0) return out + "No stack samples.\n";
  std::vector<std::size_t> order(graph.names.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return times.self[a] > times.self[b]; });
  out += "  SELF   TOTAL  FUNCTION\n";
  const auto percent = [&](std::uint64_t us) {
    return 100.0 * static_cast<double>(us) / static_cast<double>(whole);
  };
  for (std::size_t i = 0; i < order.size() && i < rows; ++i) {
    const auto name = order[i];
    if (times.self[name] == 0) break;
    out += fmt::format("{:5.1f}%  {:5.1f}%  {}\n", percent(times.self[name]),
                       percent(times.total[name]), graph.names[name].method);
  }
  return out;
}

}  // namespace clrscope::ops
