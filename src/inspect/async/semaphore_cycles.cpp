#include "inspect/async/semaphore_cycles.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>
#include <unordered_set>

namespace clrscope::inspect {
namespace {

constexpr std::uint32_t kNone = HeapView::kNone;
constexpr std::size_t kMostSemaphores = 1000;
constexpr std::size_t kMostReferences = 64;
constexpr std::size_t kMostHolders = 100'000;

// A method of a stack that may hold a semaphore.
struct Holder {
  std::uint32_t stack = 0;
  std::uint32_t step = 0;
  std::uint64_t semaphore = 0;
};

class Search {
 public:
  Search(HeapView& heap, TaskObjects& tasks, const AsyncSnapshot& seen)
      : heap_(heap), tasks_(tasks), seen_(seen) {}

  std::vector<AsyncCycle> run() {
    find_wanted();
    if (wanted_.empty() || wanted_.size() > kMostSemaphores) return {};
    find_references();
    find_statics();
    find_holders();
    std::vector<AsyncCycle> cycles;
    std::set<std::uint64_t> in_cycle;
    for (const auto& [address, object] : wanted_) {
      if (in_cycle.contains(address)) continue;
      const auto links = cycle_from(address);
      if (links.empty() || !all_wait_inside(links)) continue;
      for (const auto* link : links) in_cycle.insert(link->semaphore);
      cycles.push_back(described(links));
    }
    return cycles;
  }

 private:
  const AsyncWait& wait_of(std::uint32_t stack) const {
    return seen_.waits[seen_.stacks[stack].wait];
  }

  // Semaphores that somebody awaits and that have nothing free.
  void find_wanted() {
    for (const auto& wait : seen_.waits)
      if (wait.kind == AwaitKind::kSemaphore && wait.free == 0)
        if (const auto object = heap_.at(wait.object); object != kNone)
          wanted_[wait.object] = object;
  }

  // Which objects refer to one of them.
  void find_references() {
    const auto& graph = heap_.graph();
    if (graph.first_edge.size() != std::size_t{graph.objects()} + 1) return;
    std::vector<bool> is_wanted(graph.objects(), false);
    for (const auto& [address, object] : wanted_) is_wanted[object] = true;
    for (std::uint32_t object = 0; object < graph.objects(); ++object)
      for (const auto to : graph.referred_by(object))
        if (is_wanted[to]) references_[object].push_back(graph.addresses[to]);
  }

  void find_statics() {
    const auto& graph = heap_.graph();
    for (const auto& root : graph.roots) {
      if (root.kind != RootKind::kStatic || root.object >= graph.objects()) continue;
      const auto address = graph.addresses[root.object];
      if (!wanted_.contains(address) || root.name >= graph.root_names.size()) continue;
      const auto& name = graph.root_names[root.name];
      if (const auto dot = name.rfind('.'); dot != name.npos)
        statics_.emplace(name.substr(0, dot + 1), address);
    }
  }

  std::vector<std::uint64_t> led_to(std::uint32_t box) const {
    std::vector<std::uint64_t> found;
    const auto& graph = heap_.graph();
    const auto add = [&](std::uint32_t object) {
      if (const auto known = references_.find(object); known != references_.end())
        found.insert(found.end(), known->second.begin(), known->second.end());
    };
    const auto add_with_owner = [&](std::uint32_t object) {
      add(object);
      if (graph.first_edge.size() != std::size_t{graph.objects()} + 1) return;
      const auto to = graph.referred_by(object);
      for (std::size_t i = 0; i < std::min(to.size(), kMostReferences); ++i)
        if (!tasks_.is_task(to[i])) add(to[i]);
    };
    add_with_owner(box);
    if (const auto machine = tasks_.machine_object(box); machine != kNone) add_with_owner(machine);
    return found;
  }

  void find_holders() {
    for (std::uint32_t stack = 0; stack < seen_.stacks.size(); ++stack) {
      const auto& steps = seen_.stacks[stack].steps;
      for (std::uint32_t step = 0; step < steps.size() && holders_.size() < kMostHolders; ++step) {
        if (steps[step].state < 1) continue;  // it is at its first await: it holds nothing yet
        const auto box = heap_.at(steps[step].object);
        if (box == kNone) continue;
        auto held = led_to(box);
        const auto& method = seen_.method(steps[step]);
        for (const auto& [type, semaphore] : statics_)
          if (method.starts_with(type)) held.push_back(semaphore);
        std::ranges::sort(held);
        const auto [first, last] = std::ranges::unique(held);
        held.erase(first, last);
        for (const auto semaphore : held)
          if (step != 0 || wait_of(stack).object != semaphore)
            holders_.push_back({stack, step, semaphore});
      }
    }
    for (const auto& holder : holders_) by_wait_[wait_of(holder.stack).object].push_back(&holder);
  }

  // The shortest way from a semaphore back to itself: who waits for it, holds the next.
  std::vector<const Holder*> cycle_from(std::uint64_t start) const {
    std::map<std::uint64_t, const Holder*> reached;  // by the semaphore that it holds
    std::vector<std::uint64_t> todo{start};
    for (std::size_t at = 0; at < todo.size(); ++at) {
      const auto waits = by_wait_.find(todo[at]);
      if (waits == by_wait_.end()) continue;
      for (const auto* holder : waits->second) {
        if (!reached.emplace(holder->semaphore, holder).second) continue;
        if (holder->semaphore == start) return way_to(start, reached);
        todo.push_back(holder->semaphore);
      }
    }
    return {};
  }

  std::vector<const Holder*> way_to(std::uint64_t start,
                                    const std::map<std::uint64_t, const Holder*>& reached) const {
    std::vector<const Holder*> way;
    auto semaphore = start;
    do {
      const auto* const holder = reached.at(semaphore);
      way.push_back(holder);
      semaphore = wait_of(holder->stack).object;
    } while (semaphore != start && way.size() <= kMostSemaphores);
    return way;
  }

  // Nobody who may hold one of these semaphores waits for anything else: else it goes on.
  bool all_wait_inside(const std::vector<const Holder*>& links) const {
    std::set<std::uint64_t> inside;
    for (const auto* link : links) inside.insert(link->semaphore);
    return std::ranges::all_of(holders_, [&](const Holder& holder) {
      if (!inside.contains(holder.semaphore)) return true;
      const auto& wait = wait_of(holder.stack);
      return wait.kind == AwaitKind::kSemaphore && inside.contains(wait.object);
    });
  }

  AsyncCycle described(const std::vector<const Holder*>& links) const {
    AsyncCycle cycle{.by_semaphores = true};
    const auto text = [](std::uint64_t semaphore) {
      return fmt::format("SemaphoreSlim {:#x}", semaphore);
    };
    for (const auto* link : links) {
      const auto& stack = seen_.stacks[link->stack];
      AsyncCycle::Link one{.method = seen_.method(stack.steps[link->step]),
                           .object = stack.steps[link->step].object,
                           .awaits = wait_of(link->stack).object,
                           .awaits_text = text(wait_of(link->stack).object),
                           .holds = text(link->semaphore),
                           .holds_object = link->semaphore};
      for (const auto& step : stack.steps) one.frames.push_back(seen_.method(step));
      cycle.links.push_back(std::move(one));
    }
    return cycle;
  }

  HeapView& heap_;
  TaskObjects& tasks_;
  const AsyncSnapshot& seen_;
  std::map<std::uint64_t, std::uint32_t> wanted_;  // semaphores by address
  std::unordered_map<std::uint32_t, std::vector<std::uint64_t>> references_;
  std::multimap<std::string, std::uint64_t> statics_;  // semaphores by "Shop.Cart."
  std::vector<Holder> holders_;
  std::unordered_map<std::uint64_t, std::vector<const Holder*>> by_wait_;
};

}  // namespace

std::vector<AsyncCycle> semaphore_cycles(HeapView& heap, TaskObjects& tasks,
                                         const AsyncSnapshot& seen) {
  return Search{heap, tasks, seen}.run();
}

}  // namespace clrscope::inspect
