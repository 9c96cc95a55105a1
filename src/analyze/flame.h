// A trace as one tree of calls with the time spent in each, on a processor and waiting: what a
// flame graph is drawn from.
//
// The tree is of all threads. What one thread did is in the rows: a viewer adds up the rows of the
// threads it shows, from the leaves to the root, and needs no second tree. Data only; drawing is
// the viewer's (web/src/views/flame).
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "analyze/profile.h"
#include "analyze/profile_builder.h"
#include "analyze/request_parts.h"
#include "analyze/universal_samples.h"
#include "base/shape.h"

namespace clrscope::analyze {

struct FlameGraph {
  // Who told, of the time on processors and of the waiting.
  enum class Teller : std::uint8_t { kNobody, kKernel, kRuntime, kAgent };

  struct Node {
    std::uint32_t parent = 0;
    std::uint32_t name = 0;  // index into names
  };
  // What one thread did with one stack, the node being its leaf.
  struct Row {
    std::uint32_t thread = 0;
    std::uint32_t node = 0;
    std::uint64_t samples = 0;
    std::uint64_t waits = 0;
    std::uint64_t on_us = 0;
    std::uint64_t off_us = 0;
  };
  struct Thread {
    ProcessId process{};
    ThreadId thread{};
    std::string name{};
  };

  std::vector<Frame> names;
  // Level by level, a parent's children together, the heaviest first. [0] is the root, its own
  // parent.
  std::vector<Node> nodes;
  std::vector<Row> rows;
  std::vector<Thread> threads;
  std::vector<ProfileProcess> processes;
  WallTime start{};
  double duration_ms = 0;
  Teller on_from = Teller::kNobody;
  Teller off_from = Teller::kNobody;
  std::uint64_t samples = 0;        // of time on a processor
  std::uint64_t waits = 0;          // samples of waiting, or waits
  std::uint64_t unfinished = 0;     // of them: had not ended when the recording ended
  std::uint64_t without_stack = 0;  // of both
  std::uint64_t idle = 0;           // samples of processors without work: not in the tree
  std::uint64_t folded = 0;         // nodes too small to be kept; their time is their parents'
  std::uint64_t lost = 0;
};
std::span<const std::string_view> names_of(FlameGraph::Teller);  // "", "kernel", "runtime", "agent"

class FlameBuilder {
 public:
  static constexpr std::size_t kMaxNodes = 400'000;

  // Which CPU samples count. With a filter the graph has no waiting.
  using Keep = std::function<bool(ThreadId, TraceTime)>;

  // With more nodes than `most_nodes` the smallest are folded into their parents.
  explicit FlameBuilder(std::size_t most_nodes = kMaxNodes, Keep keep = {})
      : most_nodes_(most_nodes), keep_(std::move(keep)) {}

  void on_batch(const nettrace::Reader& reader, const nettrace::Batch& batch);
  void end_of_trace(const nettrace::Reader& reader);
  std::size_t samples() const { return runtime_.samples(); }  // kept in memory until the end
  FlameGraph finish() &&;

 private:
  using Row = FlameGraph::Row;

  nettrace::Batch kept(const nettrace::Batch& batch);
  void add_kernel(const StackSamples& samples, std::span<const FrameId> frames);
  void add_runtime(const Profile& profile);
  void add(const Row& row);
  std::uint32_t name_of(const Frame& frame);
  std::uint32_t child(std::uint32_t parent, std::uint32_t name);
  std::uint32_t thread_of(ProcessId process, ThreadId thread, const std::string& name);
  void note_process(ProcessId process, const std::string& name);
  std::vector<std::uint64_t> totals() const;
  void fold();
  void order();

  FlameGraph graph_;
  std::size_t most_nodes_;
  Keep keep_;
  std::vector<Event> kept_;  // of the last batch
  Providers providers_;
  std::uint64_t sampler_events_ = 0;
  FrameTable kernel_frames_;
  UniversalSamples kernel_{kernel_frames_, Wanted::kBoth};
  ProfileBuilder runtime_;
  FrameTable names_;
  HashIndex children_;
  std::unordered_map<std::uint64_t, std::uint32_t> threads_;  // process and thread: index
  std::unordered_map<ProcessId, std::size_t> processes_;      // index
  std::unordered_map<std::uint64_t, std::uint32_t> rows_;     // thread and node: index
};

// One object with flat arrays, for the viewer: docs/formats/flame.md.
struct FlameProcess {
  ProcessId pid{};
  std::string name{};
};
const Shape& shape_of(const FlameProcess*);

struct FlameAnswer {
  std::uint32_t version = 1;
  std::string title{};
  WallTime start{};
  FlameGraph::Teller on_from{};
  FlameGraph::Teller off_from{};
  double duration_ms = 0;
  std::uint64_t samples = 0;
  std::uint64_t waits = 0;
  std::uint64_t unfinished = 0;
  std::uint64_t without_stack = 0;
  std::uint64_t idle = 0;
  std::uint64_t folded = 0;
  std::uint64_t lost = 0;
  std::optional<std::uint64_t> broken_stacks{};
  std::optional<std::string> damage{};
  std::optional<RouteSamples> route{};
  std::vector<std::string> modules{};
  std::vector<std::string> names{};
  std::vector<std::uint32_t> name_module{};
  std::vector<std::uint32_t> name_kind{};
  std::vector<FlameProcess> processes{};
  std::vector<std::uint32_t> thread_process{};
  std::vector<ThreadId> thread_id{};
  std::vector<std::string> thread_name{};
  std::vector<std::uint32_t> node_name{};
  std::vector<std::uint32_t> node_parent{};
  std::vector<std::uint32_t> row_node{};
  std::vector<std::uint32_t> row_thread{};
  std::vector<std::uint64_t> row_samples{};
  std::vector<std::uint64_t> row_on_us{};
  std::vector<std::uint64_t> row_off_us{};
};
const Shape& shape_of(const FlameAnswer*);
FlameAnswer flame_answer(const FlameGraph& graph, std::string title);

}  // namespace clrscope::analyze
