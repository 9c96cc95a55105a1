// Any bytes as a trace, or as the recipe of one with extreme numbers, through one of the reports
// (the input chooses which), into a profile or a flame graph: none may crash, and what they print
// must be well-formed.
#include <cstdlib>

#include "analyze/flame.h"
#include "analyze/profile_builder.h"
#include "analyze/report.h"
#include "base/json_reader.h"
#include "extreme_trace.h"

using namespace clrscope;
using namespace clrscope::analyze;

namespace {

void require(bool condition) {
  if (!condition) std::abort();
}

template <class Reads>
bool read(Bytes input, Reads& reads) {
  nettrace::Reader reader;
  const auto on_batch = [&](const nettrace::Batch& batch) { reads.on_batch(reader, batch); };
  if (!reader.feed(input, on_batch) || !reader.finish(on_batch)) return false;
  reads.end_of_trace(reader);
  return true;
}

void check_profile(Bytes input) {
  ProfileBuilder builder;
  if (!read(input, builder)) return;
  const auto profile = std::move(builder).finish();
  std::vector<FrameId> frames;
  std::size_t in_threads = 0;
  for (const auto& thread : profile.threads) in_threads += thread.samples.size();
  require(in_threads == profile.samples.size());
  for (const auto& sample : profile.samples) {
    require(sample.thread < profile.threads.size());
    profile.frames_of(sample.stack, frames);
    for (const auto id : frames) require(static_cast<std::size_t>(id) < profile.frames.size());
  }
}

// Parents before children, level by level, and no index that leads nowhere: the viewer relies on
// it.
void check_flame(Bytes input) {
  FlameBuilder builder{64};
  if (!read(input, builder)) return;
  const auto graph = std::move(builder).finish();
  require(!graph.nodes.empty() && graph.nodes.size() <= 64);
  for (std::size_t i = 1; i < graph.nodes.size(); ++i) {
    require(graph.nodes[i].parent < i && graph.nodes[i].name < graph.names.size());
    require(i == 1 || graph.nodes[i].parent >= graph.nodes[i - 1].parent);
  }
  for (const auto& row : graph.rows)
    require(row.node < graph.nodes.size() && row.thread < graph.threads.size());
  JsonWriter json;
  write_json(json, flame_answer(graph, "any"));
  require(read_json(json.text()).has_value());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const Bytes given{data, size};
  const auto made = fuzz::looks_like_trace(given) ? std::string{} : fuzz::ExtremeTrace::make(given);
  const auto input = made.empty() ? given : as_bytes(made);
  std::size_t choice = size;
  for (const auto byte : given) choice = choice * 31 + byte;
  const auto kinds = report_kinds();
  choice %= kinds.size() + 2;
  if (choice >= kinds.size()) {
    choice == kinds.size() ? check_profile(input) : check_flame(input);
    return 0;
  }
  const auto report = kinds[choice]->make({});
  if (!read(input, *report)) return 0;
  JsonWriter json;
  json.begin_object();
  report->write_members(json);
  json.end_object();
  require(read_json(json.text()).has_value());
  require(!report->page().summary.empty());
  return 0;
}
