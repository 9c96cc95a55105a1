// A made-up heap of tasks and state machines. For tests of async/.
#pragma once

#include <map>

#include "inspect/async/async.h"
#include "inspect/fake_target.h"

namespace clrscope::inspect {

inline constexpr std::uint64_t kHeap = 0x100000;
inline constexpr std::uint64_t kTables = 0x20000;
inline constexpr std::uint32_t kRanToCompletion = 0x1000000;
inline constexpr std::uint32_t kSize = 0x80;  // of every object here

// A made-up heap. Tasks: flags at 8, continuation at 16, action at 24. Boxes: their machine at 32:
// its state, then its awaiter at 40, then `this` at 48.
class MadeUpHeap {
 protected:
  MadeUpHeap() {
    target_.add_memory(kHeap, 0x20000);
    target_.add_memory(kTables, 0x8000);
    task_fields_ = {{.name = "m_stateFlags", .offset = 8, .element_type = 8},
                    {.name = "m_continuationObject", .offset = 16, .element_type = 18},
                    {.name = "m_action", .offset = 24, .element_type = 18}};
    task_ = type("System.Threading.Tasks.Task`1[System.Int32]", task_fields_);
    source_ = type("System.Threading.Tasks.TaskCompletionSource`1[System.Int32]",
                   {{.name = "_task", .offset = 8}});
    action_ = type("System.Action", {{.name = "_target", .offset = 8}});
    list_ = type("System.Collections.Generic.List`1[System.Object]",
                 {{.name = "_items", .offset = 8}, {.name = "_size", .offset = 16}});
    array_ = type("System.Object[]", {});
    mres_ = type("System.Threading.Tasks.Task+SetOnInvokeMres", {});
    join_ = type("System.Threading.Tasks.Task+WhenAllPromise", task_fields_);
    semaphore_ = type("System.Threading.SemaphoreSlim", {{.name = "m_currentCount", .offset = 8},
                                                         {.name = "m_maxCount", .offset = 12},
                                                         {.name = "m_asyncHead", .offset = 16}});
    auto node_fields = task_fields_;
    node_fields.push_back({.name = "Next", .offset = 32});
    node_ = type("System.Threading.SemaphoreSlim+TaskNode", node_fields);
    plain_ = type("Shop.Cart", {});
  }

  std::uint32_t type(const std::string& name, std::vector<FieldInfo> fields) {
    const auto id = kTables + 0x100 * heap_.graph.types.size();
    heap_.graph.types.push_back({.name = name, .id = id});
    runtime_.types[id] = {.method_table = id, .name = name, .base_size = kSize, .fields = fields};
    return static_cast<std::uint32_t>(heap_.graph.types.size() - 1);
  }

  // The type of the box of an async method, with its state machine inside.
  std::uint32_t method(const std::string& machine) {
    const auto inner = kTables + 0x4000 + 0x100 * heap_.graph.types.size();
    runtime_.types[inner] = {.method_table = inner,
                             .name = machine,
                             .base_size = 16 + 24,
                             .fields = {{.name = "<>1__state", .offset = 8},
                                        {.name = "<>u__1", .offset = 16, .element_type = 17},
                                        {.name = "<>4__this", .offset = 24}}};
    auto fields = task_fields_;
    fields.push_back({.name = "StateMachine", .offset = 32, .element_type = 17});
    const auto made = type(
        "System.Runtime.CompilerServices.AsyncTaskMethodBuilder`1+AsyncStateMachineBox`1"
        "[System.Int32," +
            machine + "]",
        fields);
    // Its type arguments: a dictionary with two, the second is the machine.
    const auto table = heap_.graph.types[made].id;
    const auto dictionaries = table + 0x60;
    target_.put(table + 48, dictionaries);
    target_.put<std::uint16_t>(dictionaries - 4, 1);
    target_.put<std::uint16_t>(dictionaries - 2, 2);
    target_.put(dictionaries, dictionaries + 16);
    target_.put(dictionaries + 24, inner);
    return made;
  }

  std::uint64_t add(std::uint32_t of) {
    auto& graph = heap_.graph;
    const auto address = kHeap + kSize * graph.addresses.size();
    graph.addresses.push_back(address);
    graph.type_of.push_back(of);
    graph.sizes.push_back(kSize);
    target_.put(address, graph.types[of].id);
    return address;
  }
  std::uint64_t number(std::uint64_t n) const { return kHeap + kSize * n; }

  std::uint64_t task(std::uint32_t of, std::uint64_t next, std::uint32_t flags = 0) {
    const auto address = add(of);
    target_.put(address + 8, flags);
    target_.put(address + 16, next);
    return address;
  }
  std::uint64_t box(std::uint32_t of, std::int32_t state, std::uint64_t awaited,
                    std::uint64_t next = 0, std::uint64_t of_this = 0) {
    const auto address = task(of, next);
    target_.put(address + 32, state);
    target_.put(address + 40, awaited);
    target_.put(address + 48, of_this);
    return address;
  }
  void point(std::uint64_t from, std::uint64_t offset, std::uint64_t to) {
    target_.put(from + offset, to);
  }

  AsyncSnapshot read(const Snapshot* threads = nullptr) {
    find_edges();
    return read_async(target_, runtime_, heap_, threads);
  }
  void find_edges() {
    auto& graph = heap_.graph;
    graph.first_edge.assign(1, 0);
    graph.edges.clear();
    Memory memory{target_};
    for (const auto address : graph.addresses) {
      for (std::uint64_t at = 8; at + 8 <= kSize; at += 8) {
        const auto word = *memory.pointer(address + at);
        if (word >= kHeap && word < kHeap + kSize * graph.addresses.size() && word % kSize == 0)
          graph.edges.push_back(static_cast<std::uint32_t>((word - kHeap) / kSize));
      }
      graph.first_edge.push_back(static_cast<std::uint32_t>(graph.edges.size()));
    }
  }
  static std::vector<std::string> methods(const AsyncSnapshot& seen, const AsyncStack& stack) {
    std::vector<std::string> names;
    for (const auto& step : stack.steps) names.push_back(seen.method(step));
    return names;
  }

  FakeTarget target_;
  FakeRuntime runtime_;
  HeapSnapshot heap_;
  std::vector<FieldInfo> task_fields_;
  std::uint32_t task_, source_, action_, list_, array_, mres_, join_, semaphore_, node_, plain_;
};

}  // namespace clrscope::inspect
