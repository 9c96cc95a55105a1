#include <map>
#include <unordered_map>

#include "analyze/flame.h"

namespace clrscope::analyze {
namespace {

void add_names(FlameAnswer& answer, const FlameGraph& graph) {
  std::map<std::string_view, std::uint32_t> modules;
  for (const auto& frame : graph.names) {
    const auto next = static_cast<std::uint32_t>(answer.modules.size());
    const auto [module, added] = modules.try_emplace(frame.module, next);
    if (added) answer.modules.push_back(frame.module);
    answer.names.push_back(frame.method);
    answer.name_module.push_back(module->second);
    answer.name_kind.push_back(static_cast<std::uint32_t>(frame.kind));
  }
}

void add_threads(FlameAnswer& answer, const FlameGraph& graph) {
  std::unordered_map<ProcessId, std::uint32_t> index;
  for (const auto& process : graph.processes) {
    index.try_emplace(process.process, static_cast<std::uint32_t>(index.size()));
    answer.processes.push_back({process.process, process.name});
  }
  for (const auto& thread : graph.threads) {
    answer.thread_process.push_back(index[thread.process]);
    answer.thread_id.push_back(thread.thread);
    answer.thread_name.push_back(thread.name);
  }
}

}  // namespace

const Shape& shape_of(const FlameProcess*) {
  static const auto shape =
      describe<FlameProcess>("FlameProcess", "process in a flame graph",
                             {member<&FlameProcess::pid>("pid", "process id"),
                              member<&FlameProcess::name>("name", "process name")});
  return shape;
}

const Shape& shape_of(const FlameAnswer*) {
  using A = FlameAnswer;
  static const auto shape = describe<A>(
      "Flame", "trace as one tree of calls, in flat arrays",
      {member<&A::version>("version", "version of this format"),
       member<&A::title>("title", "what the graph is about"),
       member<&A::start>("startTime", "start of the recording"),
       member<&A::on_from>("onFrom", "source of CPU time data; empty if none"),
       member<&A::off_from>("offFrom", "source of wait data; empty if none"),
       member<&A::duration_ms>("durationMs", Unit::kMs, "duration of the recording"),
       member<&A::samples>("samples", "CPU samples in the tree"),
       member<&A::waits>("waits", "waits, or samples of waiting threads, in the tree"),
       member<&A::unfinished>("unfinished", "waits that had not ended when the recording ended"),
       member<&A::without_stack>("withoutStack", "samples and waits without a stack"),
       member<&A::idle>("idle", "samples of idle CPUs, not in the tree"),
       member<&A::folded>("folded", "nodes too small to keep, added to their parents"),
       member<&A::lost>("lost", "events lost"),
       member<&A::broken_stacks>("brokenStacks", "stacks that do not reach their root"),
       member<&A::damage>("damage", "what could not be read"),
       member<&A::route>("route", "the route whose CPU samples these are, if it is only that"),
       member<&A::modules>("modules", "names of modules"),
       member<&A::names>("names", "names of functions"),
       member<&A::name_module>("nameModule", "module of each function: index into modules"),
       member<&A::name_kind>("nameKind", "whose code each function is"),
       member<&A::processes>("processes", "processes"),
       member<&A::thread_process>("threadProcess", "process of each thread: index into processes"),
       member<&A::thread_id>("threadId", "operating system's id of each thread"),
       member<&A::thread_name>("threadName", "name of each thread"),
       member<&A::node_name>("nodeName", "function of each node: index into names"),
       member<&A::node_parent>("nodeParent", "parent of each node; the root is its own"),
       member<&A::row_node>("rowNode", "leaf of the stack of each row"),
       member<&A::row_thread>("rowThread", "thread of each row"),
       member<&A::row_samples>("rowSamples", "CPU samples"),
       member<&A::row_on_us>("rowOnUs", "microseconds of CPU time"),
       member<&A::row_off_us>("rowOffUs", "microseconds waiting")});
  return shape;
}

FlameAnswer flame_answer(const FlameGraph& graph, std::string title) {
  FlameAnswer answer{.title = std::move(title),
                     .start = graph.start,
                     .on_from = graph.on_from,
                     .off_from = graph.off_from,
                     .duration_ms = graph.duration_ms,
                     .samples = graph.samples,
                     .waits = graph.waits,
                     .unfinished = graph.unfinished,
                     .without_stack = graph.without_stack,
                     .idle = graph.idle,
                     .folded = graph.folded,
                     .lost = graph.lost};
  add_names(answer, graph);
  add_threads(answer, graph);
  for (const auto& node : graph.nodes) {
    answer.node_name.push_back(node.name);
    answer.node_parent.push_back(node.parent);
  }
  for (const auto& row : graph.rows) {
    answer.row_node.push_back(row.node);
    answer.row_thread.push_back(row.thread);
    answer.row_samples.push_back(row.samples);
    answer.row_on_us.push_back(row.on_us);
    answer.row_off_us.push_back(row.off_us);
  }
  return answer;
}

}  // namespace clrscope::analyze
