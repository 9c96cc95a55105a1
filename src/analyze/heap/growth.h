// Which types grow from one look at a heap to the next, and what keeps their objects alive: the
// evidence of a leak.
//
// A look is small, so that several can be kept; of the last one the whole heap is needed, for the
// paths. Only reachable objects count: garbage comes and goes.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "analyze/heap/report.h"

namespace clrscope::analyze {

struct LiveType {
  std::string module{};
  std::uint64_t count = 0;
  std::uint64_t bytes = 0;
  std::uint64_t retained = 0;
};

struct HeapLook {
  std::chrono::nanoseconds at{};  // since the first look
  std::uint64_t objects = 0;      // reachable
  std::uint64_t bytes = 0;
  std::map<std::string, LiveType> types{};  // by name
};
// `heap` must have references.
HeapLook look_at(const HeapReport& heap, std::chrono::nanoseconds at);

// What the objects hang on, as far as the types on the path tell.
enum class Holder : std::uint8_t {
  kCollection,    // a list, dictionary, queue or array
  kEventHandler,  // a delegate: an event that was never unsubscribed from
  kTimer,         // a timer that was never disposed
  kWeakTable,     // a ConditionalWeakTable whose keys live on
  kOther,
};

struct GrowingType {
  std::string type{};
  std::string module{};
  std::vector<std::uint64_t> counts{};  // in each look
  std::uint64_t retained_before = 0, retained_after = 0;
  double objects_per_second = 0;
  double bytes_per_second = 0;     // retained
  std::vector<HeapStep> path{};    // of most of the objects in the last look, root first
  std::uint64_t path_objects = 0;  // objects with this path
  Holder holder = Holder::kOther;
};

struct GrowthLimits {
  double objects_per_second = 10;
  double bytes_per_second = 4096;
  std::size_t types = 3;  // the most that are returned
};
// Types whose number of objects grew from every look to the next at a similar rate, most retained
// bytes first. What grows only with another type (the strings of an order, the timers that hold
// sessions) is left out: it is that one's part. `last` is the heap of the last look. Nothing from
// fewer than three looks: two cannot tell growth from a jump. Nothing of what the runtime makes for
// listeners to its events.
std::vector<GrowingType> find_growth(std::span<const HeapLook> looks, const HeapReport& last,
                                     const GrowthLimits& limits);

}  // namespace clrscope::analyze
