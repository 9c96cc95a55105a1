#include <fmt/format.h>

#include <map>
#include <unordered_map>

#include "analyze/flame.h"
#include "base/json.h"

namespace clrscope::analyze {
namespace {

// Arrays of numbers are most of it: written without the bookkeeping of JsonWriter.
template <class Items, class Value>
void append_numbers(std::string& out, std::string_view key, const Items& items,
                    const Value& value) {
  out += fmt::format("\"{}\":[", key);
  std::string_view separator;
  for (const auto& item : items) {
    const fmt::format_int digits{value(item)};
    out.append(separator).append(digits.data(), digits.size());
    separator = ",";
  }
  out += ']';
}

template <class Items, class Text>
void append_texts(std::string& out, std::string_view key, const Items& items, const Text& text) {
  out += fmt::format("\"{}\":[", key);
  std::string_view separator;
  for (const auto& item : items) {
    out += separator;
    append_json_string(out, text(item));
    separator = ",";
  }
  out += ']';
}

void append_member(std::string& out, std::string_view key, std::string_view text) {
  out += fmt::format("\"{}\":", key);
  append_json_string(out, text);
  out += ',';
}

void append_names(std::string& out, const FlameGraph& graph) {
  std::map<std::string_view, std::size_t> modules;
  std::vector<std::string_view> texts;
  for (const auto& frame : graph.names)
    if (modules.try_emplace(frame.module, texts.size()).second) texts.push_back(frame.module);
  append_texts(out, "modules", texts, [](std::string_view text) { return text; });
  out += ',';
  append_texts(out, "names", graph.names, [](const Frame& frame) { return frame.method; });
  out += ',';
  append_numbers(out, "nameModule", graph.names,
                 [&](const Frame& frame) { return modules[frame.module]; });
  out += ',';
  append_numbers(out, "nameKind", graph.names,
                 [](const Frame& frame) { return static_cast<unsigned>(frame.kind); });
}

}  // namespace

std::string flame_json(const FlameGraph& graph, std::string_view title, std::string_view extra) {
  std::string out = "{\"version\":1,";
  append_member(out, "title", title);
  append_member(out, "startTime", iso8601(graph.start));
  append_member(out, "onFrom", to_string(graph.on_from));
  append_member(out, "offFrom", to_string(graph.off_from));
  out += fmt::format(
      "\"durationMs\":{:.3f},\"samples\":{},\"waits\":{},\"unfinished\":{},\"withoutStack\":{},"
      "\"idle\":{},"
      "\"folded\":{},\"lost\":{},",
      graph.duration_ms, graph.samples, graph.waits, graph.unfinished, graph.without_stack,
      graph.idle, graph.folded, graph.lost);
  out += extra;
  append_names(out, graph);
  out += ",\"processes\":[";
  std::string_view separator;
  for (const auto& process : graph.processes) {
    out += fmt::format("{}{{\"pid\":{},\"name\":", separator,
                       static_cast<std::int32_t>(process.process));
    append_json_string(out, process.name);
    out += '}';
    separator = ",";
  }
  out += "],";
  std::unordered_map<ProcessId, std::size_t> index;
  for (const auto& process : graph.processes) index.try_emplace(process.process, index.size());
  append_numbers(out, "threadProcess", graph.threads,
                 [&](const auto& thread) { return index[thread.process]; });
  out += ',';
  append_numbers(out, "threadId", graph.threads,
                 [](const auto& thread) { return static_cast<std::uint64_t>(thread.thread); });
  out += ',';
  append_texts(out, "threadName", graph.threads, [](const auto& thread) { return thread.name; });
  out += ',';
  append_numbers(out, "nodeName", graph.nodes, [](const auto& node) { return node.name; });
  out += ',';
  append_numbers(out, "nodeParent", graph.nodes, [](const auto& node) { return node.parent; });
  out += ',';
  append_numbers(out, "rowNode", graph.rows, [](const auto& row) { return row.node; });
  out += ',';
  append_numbers(out, "rowThread", graph.rows, [](const auto& row) { return row.thread; });
  out += ',';
  append_numbers(out, "rowSamples", graph.rows, [](const auto& row) { return row.samples; });
  out += ',';
  append_numbers(out, "rowOnUs", graph.rows, [](const auto& row) { return row.on_us; });
  out += ',';
  append_numbers(out, "rowOffUs", graph.rows, [](const auto& row) { return row.off_us; });
  out += "}\n";
  return out;
}

}  // namespace clrscope::analyze
