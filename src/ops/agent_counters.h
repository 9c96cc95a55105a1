// Counts the records of the agent: by slots while they come, which become names when asked.
//
// Records come from a process that may lie: every count has a limit. One thread at a time.
#pragma once

#include <map>
#include <unordered_map>

#include "collect/agent/connection.h"
#include "ops/agent.h"

namespace clrscope::ops {

std::string name_or_unknown(const collect::AgentArena& arena, std::uint32_t slot);

class ExceptionCounter {
 public:
  void take(const void* bytes, std::uint32_t size);
  void fill(const collect::AgentArena& arena, AgentExceptions& out) const;

 private:
  using Stack = std::vector<std::uint32_t>;
  struct Type {
    std::uint64_t count = 0;
    std::uint64_t caught = 0;
    std::uint64_t ticks = 0;
    std::uint64_t longest = 0;
    std::map<Stack, std::uint64_t> stacks{};
    std::map<std::uint32_t, std::uint64_t> sites{};
    std::map<std::uint32_t, std::uint64_t> catchers{};
  };
  void take_thrown(const wire::ExceptionThrown& thrown);
  void take_caught(const wire::ExceptionCaught& caught);

  std::map<std::uint32_t, Type> types_;
  std::unordered_map<std::uint64_t, std::uint32_t> open_;
  std::uint64_t recorded_ = 0;
  std::size_t stacks_ = 0;
};

class ContentionCounter {
 public:
  void take(const void* bytes, std::uint32_t size);
  void fill(const collect::AgentArena& arena, AgentContention& out) const;

 private:
  using Stack = std::vector<std::uint32_t>;
  struct Waits {
    std::uint64_t count = 0;
    std::uint64_t total_ns = 0;
    std::uint64_t longest_ns = 0;
    std::map<std::uint32_t, std::uint64_t> owners{};
  };
  std::map<Stack, Waits> stacks_;
  std::uint64_t recorded_ = 0;
  std::uint64_t waited_ns_ = 0;
};

class AllocationCounter {
 public:
  void take(const void* bytes, std::uint32_t size);
  void fill(const collect::AgentArena& arena, AgentAllocations& out) const;

 private:
  using Stack = std::vector<std::uint32_t>;
  struct Allocated {
    std::uint64_t samples = 0;
    double bytes = 0;
  };
  std::map<std::uint32_t, std::map<Stack, Allocated>> types_;
  std::uint64_t samples_ = 0;
  std::size_t stacks_ = 0;
};

class SurvivorCounter {
 public:
  void take(const void* bytes, std::uint32_t size);
  void fill(const collect::AgentArena& arena, AgentSurvivors& out) const;

 private:
  using Stack = std::vector<std::uint32_t>;
  struct Place {
    std::uint64_t samples = 0;
    double bytes = 0, died = 0, one = 0, two = 0, lost = 0;
  };
  using Places = std::map<std::pair<std::uint32_t, Stack>, Place>;
  struct Open {
    Place* place = nullptr;  // nodes of a map stay where they are
    double bytes = 0;
  };
  void take_sampled(const wire::SampledObject& object);
  void take_seen(const wire::ObjectsSeen& seen);

  Places places_;
  std::unordered_map<std::uint32_t, Open> open_;
  // Rings are not in order among each other: a fate may come before its object.
  std::vector<std::pair<std::uint32_t, wire::Fate>> early_;
  std::uint64_t samples_ = 0;
  std::uint64_t collections_ = 0;
};

// All of them.
struct AgentCounters {
  ExceptionCounter exceptions{};
  ContentionCounter contention{};
  AllocationCounter allocations{};
  SurvivorCounter survivors{};

  void take(const void* bytes, std::uint32_t size);
};

}  // namespace clrscope::ops
