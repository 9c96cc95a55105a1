#include "inspect/async/async.h"

#include <fmt/format.h>
#include <time.h>

#include <algorithm>
#include <array>
#include <map>
#include <unordered_map>

#include "base/clock.h"
#include "inspect/async/await_kind.h"
#include "inspect/async/semaphore_cycles.h"
#include "inspect/async/task_objects.h"
#include "inspect/tasks.h"
#include "symbols/method_name.h"

namespace clrscope::inspect {
namespace {

constexpr std::uint32_t kNone = HeapView::kNone;
constexpr std::size_t kMostStacks = 200'000;
constexpr std::size_t kMostSteps = 512;           // of one stack
constexpr std::uint64_t kMostWalked = 5'000'000;  // steps of all stacks
constexpr std::uint64_t kMostNodes = 20'000'000;

// A task that is not completed, or another object that somebody awaits.
struct Node {
  std::uint32_t object = 0;
  std::int32_t state = -1;  // of an async method
  bool method = false;
  bool ready = false;    // of an async method: what it awaits is done
  bool blocked = false;  // a thread waits for it
};

// Which nodes follow from which: who is woken by whom.
class Links {
 public:
  void add(std::uint32_t from, std::uint32_t to) { all_.emplace_back(from, to); }
  void sort(std::size_t nodes) {
    std::ranges::sort(all_);
    const auto [first, last] = std::ranges::unique(all_);
    all_.erase(first, last);
    starts_.assign(nodes + 1, 0);
    for (const auto& [from, to] : all_) ++starts_[from + 1];
    for (std::size_t i = 1; i <= nodes; ++i) starts_[i] += starts_[i - 1];
  }
  std::span<const std::pair<std::uint32_t, std::uint32_t>> from(std::uint32_t node) const {
    return std::span{all_}.subspan(starts_[node], starts_[node + 1] - starts_[node]);
  }

 private:
  std::vector<std::pair<std::uint32_t, std::uint32_t>> all_;
  std::vector<std::uint32_t> starts_;
};

// What the runtime's timers go by.
std::optional<std::uint64_t> timer_ticks(const Target& target) {
  timespec now{};
  if (target.kind() == TargetKind::kCore || ::clock_gettime(CLOCK_MONOTONIC, &now) != 0)
    return std::nullopt;
  return static_cast<std::uint64_t>(now.tv_sec) * 1000 +
         static_cast<std::uint64_t>(now.tv_nsec) / 1'000'000;
}

// "System.Threading.Tasks.Task+WhenAllPromise" is known as Task.WhenAll.
std::string title_of_join(std::string_view type) {
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 7> kTitles{{
      {"WhenAll", "Task.WhenAll"},
      {"WhenAny", "Task.WhenAny"},
      {"WhenEach", "Task.WhenEach"},
      {"UnwrapPromise", "Task.Unwrap"},
      {"CancellationPromise", "Task.WaitAsync"},
      {"ContinuationTaskFrom", "Task.ContinueWith"},
      {"ContinuationResultTaskFrom", "Task.ContinueWith"},
  }};
  for (const auto& [part, title] : kTitles)
    if (type.find(part) != type.npos) return std::string{title};
  if (type.find("OnInvokePromise") != type.npos) return "Task.WhenAny";
  return std::string{type};
}

class Reading {
 public:
  Reading(Target& target, RuntimeReader& reader, const HeapSnapshot& heap, const Snapshot* threads)
      : graph_(heap.graph),
        segments_(heap.segments),
        heap_(target, reader, heap.graph),
        tasks_(heap_),
        kinds_(heap_, tasks_, timer_ticks(target)) {
    out_.pid = target.pid();
    out_.target = target.kind();
    out_.runtime = reader.version();
    out_.runtime.resize(std::min(out_.runtime.find('-'), out_.runtime.size()));
    if (threads) note_threads(*threads);
    note_version();
  }

  AsyncSnapshot run() {
    const auto start = TraceClock::now();
    out_.taken = std::chrono::system_clock::now();
    if (!graph_.has_references()) return std::move(out_);
    find_nodes();
    link_nodes();
    make_stacks();
    find_cycles();
    auto by_semaphores = semaphore_cycles(heap_, tasks_, out_);
    std::ranges::move(by_semaphores, std::back_inserter(out_.cycles));
    out_.timers = kinds_.timers();
    out_.took = TraceClock::now() - start;
    return std::move(out_);
  }

 private:
  void note_threads(const Snapshot& threads) {
    for (const auto& thread : threads.threads) {
      if (thread.waiting_for && thread.waiting_for->kind == WaitKind::kTask)
        blocked_[thread.waiting_for->object] = thread.os_id();
      for (const auto& frame : thread.frames)
        if (const auto at = frame.method.find(".MoveNext("); at != std::string::npos)
          running_.emplace(frame.method.substr(0, at), thread.os_id());
    }
  }

  void note_version() {
    // Its async methods may have no state machines: the runtime suspends them itself.
    if (const auto dot = out_.runtime.find('.'); dot != std::string::npos && dot <= 2) {
      int major = 0;
      for (const auto digit : out_.runtime.substr(0, dot))
        major = digit >= '0' && digit <= '9' ? major * 10 + (digit - '0') : 0;
      if (major >= 11)
        out_.notes.push_back(fmt::format(
            ".NET {}: methods that use runtime-async are not supported and not shown; only async "
            "methods with a state machine are",
            out_.runtime));
    }
  }

  std::uint32_t add_node(std::uint32_t object) {
    const auto id = static_cast<std::uint32_t>(nodes_.size());
    nodes_.push_back({.object = object});
    node_of_[object] = id;
    return id;
  }

  void find_nodes() {
    for (std::uint32_t object = 0; object < graph_.objects(); ++object) {
      kinds_.note(object);
      const auto& layout = tasks_.layout_of(object);
      if (layout.kind == TaskKind::kNone) continue;
      if (layout.is_method()) ++out_.state_machines;
      if (nodes_.size() >= kMostNodes || tasks_.is_completed(object)) continue;
      if (layout.is_method()) ++out_.pending;
      const auto id = add_node(object);
      if (!layout.is_method()) continue;
      nodes_[id].method = true;
      const auto machine = tasks_.machine_object(object);
      if (machine != kNone) node_of_.emplace(machine, id);  // of iterators: this is awaited
    }
  }

  void link_nodes() {
    bool cut = false;
    const auto tasks = static_cast<std::uint32_t>(nodes_.size());
    for (std::uint32_t id = 0; id < tasks; ++id) {
      const auto next = tasks_.next_of(nodes_[id].object);
      nodes_[id].blocked = next.thread || blocked_.contains(address(id));
      cut = cut || next.cut;
      for (const auto one : next.tasks)
        if (const auto to = node_of_.find(one); to != node_of_.end()) link(id, to->second);
    }
    for (std::uint32_t id = 0; id < tasks; ++id)
      if (nodes_[id].method) link_to_awaited(id);
    if (cut) out_.notes.emplace_back("too many continuations: not all of them were followed");
    next_.sort(nodes_.size());
    before_.sort(nodes_.size());
  }

  void link(std::uint32_t from, std::uint32_t to) {
    next_.add(from, to);
    before_.add(to, from);
  }

  void link_to_awaited(std::uint32_t id) {
    const auto box = nodes_[id].object;
    nodes_[id].state = tasks_.state(box).value_or(-1);
    if (nodes_[id].state < 0) return;
    const auto awaited = tasks_.awaited(box);
    if (awaited == kNone || awaited == box) return;
    auto from = node_of_.find(awaited);
    if (from == node_of_.end()) {
      if (tasks_.is_task(awaited)) {  // not among the pending ones
        nodes_[id].ready = true;
        return;
      }
      add_node(awaited);
      from = node_of_.find(awaited);
    }
    link(from->second, id);
  }

  std::uint64_t address(std::uint32_t id) const { return graph_.addresses[nodes_[id].object]; }

  std::uint32_t name_id(std::string name) {
    const auto [at, is_new] = names_.emplace(std::move(name), out_.names.size());
    if (is_new) out_.names.push_back(at->first);
    return static_cast<std::uint32_t>(at->second);
  }

  AsyncStep step_of(std::uint32_t id) {
    const auto& node = nodes_[id];
    const auto type = graph_.type_of[node.object];
    // The method of an object's type is known by the type, or by its machine's.
    auto known = titles_.find(type);
    if (known == titles_.end() || (node.method && tasks_.layout(type).machine_is_object)) {
      const auto machine = node.method ? tasks_.machine_type(node.object) : std::string{};
      auto title = node.method ? async_title(machine.empty() ? graph_.types[type].name : machine)
                               : title_of_join(graph_.types[type].name);
      known = titles_.insert_or_assign(type, name_id(std::move(title))).first;
    }
    return {.name = known->second, .state = node.state, .object = address(id)};
  }

  AsyncWait wait_of(std::uint32_t leaf) {
    const auto& node = nodes_[leaf];
    if (!node.method) return kinds_.describe(node.object);
    AsyncWait wait{.object = address(leaf), .type = graph_.types[graph_.type_of[node.object]].name};
    if (node.ready) {
      wait.kind = AwaitKind::kReady;
    } else if (node.state < 0) {
      wait.kind = AwaitKind::kRunning;
      const auto thread = running_.find(tasks_.machine_type(node.object));
      if (thread != running_.end()) wait.thread = thread->second;
    }
    return wait;
  }

  void make_stacks() {
    visited_.assign(nodes_.size(), false);
    std::vector<bool> on_path(nodes_.size(), false);
    for (std::uint32_t id = 0; id < nodes_.size(); ++id) {
      if (!before_.from(id).empty()) continue;
      visited_[id] = true;
      if (!nodes_[id].method && next_.from(id).empty()) continue;  // nobody awaits it
      climb(id, on_path);
    }
    if (out_.stacks_cut > 0)
      out_.notes.push_back(
          fmt::format("only {} async stacks are shown; there are more", out_.stacks.size()));
  }

  // Every way from a leaf to an outermost method.
  void climb(std::uint32_t leaf, std::vector<bool>& on_path) {
    struct At {
      std::uint32_t node;
      std::size_t next = 0;
    };
    const auto wait = static_cast<std::uint32_t>(out_.waits.size());
    bool any = false;
    std::vector<At> path{{leaf}};
    on_path[leaf] = true;
    while (!path.empty()) {
      auto& top = path.back();
      const auto above = next_.from(top.node);
      if (++walked_ >= kMostWalked || out_.stacks.size() >= kMostStacks) {
        ++out_.stacks_cut;
        for (const auto& at : path) on_path[at.node] = false;
        break;
      }
      const bool end = above.empty() || path.size() > kMostSteps;
      if (end) {
        if (!any) out_.waits.push_back(wait_of(leaf));
        any = true;
        add_stack(wait, path);
      }
      if (end || top.next >= above.size()) {
        on_path[top.node] = false;
        path.pop_back();
        continue;
      }
      const auto next = above[top.next++].second;
      visited_[next] = true;
      if (on_path[next]) continue;  // they wait for each other, and for this one
      on_path[next] = true;
      path.push_back({next});
    }
  }

  template <class Path>
  void add_stack(std::uint32_t wait, const Path& path) {
    AsyncStack stack{.wait = wait};
    stack.steps.reserve(path.size());
    for (const auto& at : path)
      if (&at != &path.front() || nodes_[at.node].method) stack.steps.push_back(step_of(at.node));
    const auto thread = blocked_.find(address(path.back().node));
    if (thread != blocked_.end()) stack.blocked_thread = thread->second;
    const auto& of = out_.waits[wait];
    stack.old = is_old(of.task != 0 ? of.task : of.object);
    out_.stacks.push_back(std::move(stack));
  }

  bool is_old(std::uint64_t object) const {
    return std::ranges::any_of(segments_, [&](const HeapSegment& segment) {
      return segment.generation == HeapGeneration::kGen2 && object >= segment.start &&
             object < segment.end;
    });
  }

  // What no leaf leads to waits for itself.
  void find_cycles() {
    mark_reachable();
    std::vector<std::uint8_t> done(nodes_.size(), 0);
    constexpr std::size_t kMostCycles = 1000;
    for (std::uint32_t id = 0; id < nodes_.size() && out_.cycles.size() < kMostCycles; ++id) {
      if (visited_[id]) continue;
      std::vector<std::uint32_t> path;
      auto at = id;
      while (at != kNone && done[at] == 0) {
        done[at] = 1;
        path.push_back(at);
        at = unvisited_before(at);
      }
      const auto first = std::ranges::find(path, at);
      if (first != path.end()) add_cycle({first, path.end()});
    }
  }

  // Stacks that were cut leave nodes that a leaf leads to.
  void mark_reachable() {
    std::vector<std::uint32_t> todo;
    for (std::uint32_t id = 0; id < nodes_.size(); ++id)
      if (visited_[id] || before_.from(id).empty()) {
        visited_[id] = true;
        todo.push_back(id);
      }
    while (!todo.empty()) {
      const auto id = todo.back();
      todo.pop_back();
      for (const auto& [from, to] : next_.from(id)) {
        if (visited_[to]) continue;
        visited_[to] = true;
        todo.push_back(to);
      }
    }
  }

  std::uint32_t unvisited_before(std::uint32_t id) const {
    for (const auto& [to, from] : before_.from(id))
      if (!visited_[from]) return from;
    return kNone;
  }

  void add_cycle(const std::vector<std::uint32_t>& ids) {
    AsyncCycle cycle;
    const auto shown = std::min(ids.size(), kMostSteps);
    for (std::size_t i = 0; i < shown; ++i) {
      const auto step = step_of(ids[i]);
      const auto next = step_of(ids[(i + 1) % ids.size()]);
      cycle.links.push_back({.method = out_.method(step),
                             .object = step.object,
                             .awaits = next.object,
                             .awaits_text = out_.method(next),
                             .frames = {out_.method(step)}});
    }
    AsyncStack stack{.wait = static_cast<std::uint32_t>(out_.waits.size())};
    out_.waits.push_back({.kind = AwaitKind::kCycle,
                          .object = address(ids[0]),
                          .type = graph_.types[graph_.type_of[nodes_[ids[0]].object]].name,
                          .detail = fmt::format("{} tasks that await each other", ids.size())});
    // Each is awaited by the one before it: from the awaited one outward.
    for (std::size_t i = shown; i > 0; --i) stack.steps.push_back(step_of(ids[i - 1]));
    out_.stacks.push_back(std::move(stack));
    out_.cycles.push_back(std::move(cycle));
  }

  const HeapGraph& graph_;
  const std::vector<HeapSegment>& segments_;
  HeapView heap_;
  TaskObjects tasks_;
  AwaitKinds kinds_;
  std::vector<Node> nodes_;
  std::unordered_map<std::uint32_t, std::uint32_t> node_of_;  // by object
  Links next_, before_;
  std::vector<bool> visited_;
  std::uint64_t walked_ = 0;
  std::unordered_map<std::uint64_t, std::uint32_t> blocked_;  // threads by the task they wait for
  std::map<std::string, std::uint32_t> running_;              // threads by state machine
  std::unordered_map<std::uint32_t, std::uint32_t> titles_;   // by type
  std::map<std::string, std::size_t> names_;
  AsyncSnapshot out_;
};

}  // namespace

std::span<const std::string_view> names_of(AwaitKind) {
  static constexpr std::array<std::string_view, 13> kNames{
      "unknown", "Task.Delay", "TaskCompletionSource", "SemaphoreSlim", "channel", "socket",
      "file",    "pipe",       "ValueTask source",     "task",          "running", "ready",
      "cycle"};
  return kNames;
}

std::string_view name_of(AwaitKind kind) { return names_of(kind)[static_cast<std::size_t>(kind)]; }

AsyncSnapshot read_async(Target& target, RuntimeReader& reader, const HeapSnapshot& heap,
                         const Snapshot* threads) {
  return Reading{target, reader, heap, threads}.run();
}

}  // namespace clrscope::inspect
