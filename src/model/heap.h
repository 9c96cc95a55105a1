// A managed heap at one moment: its objects, which object refers to which, what keeps them alive.
//
// Data only, in arrays by object number, so that ten million objects fit. inspect/heap makes it
// from a process or a core; gcdump and analyze make it from files.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace clrscope {

enum class HeapGeneration : std::uint8_t {
  kGen0,
  kGen1,
  kGen2,
  kLarge,
  kPinned,
  kFrozen,
  kUnknown,
};
std::span<const std::string_view> names_of(HeapGeneration);  // "gen0", …, "large", "pinned" …

// Why an object is alive.
enum class RootKind : std::uint8_t {
  kStatic,          // a static field
  kThreadStatic,    // a [ThreadStatic] field
  kStack,           // a local variable or argument of a running method
  kStrongHandle,    // GCHandle, and the runtime's own
  kPinnedHandle,    // GCHandleType.Pinned, AsyncPinned
  kRefCountHandle,  // COM and Objective-C wrappers
  kFinalizer,       // waits for its finalizer to run
  kOther,
};
std::span<const std::string_view> names_of(RootKind);  // "static field", "stack", …

struct HeapType {
  std::string name{};    // Namespace.Type`1[Argument], nested with '+'
  std::string module{};  // "Shop.Core"; empty: unknown
  std::uint64_t id = 0;  // its method table; 0: unknown
};

struct HeapRoot {
  std::uint32_t object = 0;
  RootKind kind = RootKind::kOther;
  std::uint32_t name = 0;  // in HeapGraph::root_names: "Shop.Cart.s_all", "thread 31: Shop.Place"
};

struct HeapGraph {
  static constexpr std::uint32_t kHuge = 0xffffffff;

  std::vector<HeapType> types{};
  // By object; objects are in ascending order of their addresses. Free space is no object.
  std::vector<std::uint64_t> addresses{};
  std::vector<std::uint32_t> type_of{};
  std::vector<std::uint32_t> sizes{};  // bytes; kHuge: see huge_sizes
  std::unordered_map<std::uint32_t, std::uint64_t> huge_sizes{};
  // What object i refers to: edges[first_edge[i]] up to edges[first_edge[i + 1]]. The value of a
  // dependent handle (ConditionalWeakTable) counts as referred to by its key.
  std::vector<std::uint32_t> first_edge{};
  std::vector<std::uint32_t> edges{};
  std::vector<HeapRoot> roots{};
  std::vector<std::string> root_names{};

  bool has_references() const { return !first_edge.empty(); }
  std::uint32_t objects() const { return static_cast<std::uint32_t>(type_of.size()); }
  std::uint64_t size_of(std::uint32_t object) const {
    const auto size = sizes[object];
    return size == kHuge ? huge_sizes.at(object) : size;
  }
  std::span<const std::uint32_t> referred_by(std::uint32_t object) const {
    return std::span{edges}.subspan(first_edge[object],
                                    first_edge[object + 1] - first_edge[object]);
  }
};

// A piece of memory that the collector has objects in.
struct HeapSegment {
  std::uint64_t start = 0, end = 0;  // what is in use of it
  std::uint64_t committed = 0;       // bytes
  HeapGeneration generation = HeapGeneration::kUnknown;
  std::uint32_t heap = 0;  // of the server collector's heaps
  std::uint64_t objects = 0;
  std::uint64_t object_bytes = 0;
  std::uint64_t free_bytes = 0;  // between objects
  std::uint64_t largest_free = 0;
};

// Strings with the same value.
struct EqualStrings {
  std::string value{};       // its beginning, UTF-8
  std::uint32_t length = 0;  // UTF-16 units
  std::uint64_t count = 0;
  std::uint64_t bytes = 0;  // of all of them

  std::uint64_t wasted() const { return count > 0 ? bytes - bytes / count : 0; }
};

struct HandleCount {
  std::string kind{};  // "strong", "pinned", "weak", "dependent" …
  std::uint64_t count = 0;
};

enum class HeapSource : std::uint8_t { kTwin, kCore, kEvents, kFile };
std::span<const std::string_view> names_of(HeapSource);

struct HeapSnapshot {
  pid_t pid = 0;
  std::string name{};
  std::string runtime{};  // "10.0.12"
  HeapSource source = HeapSource::kTwin;
  std::chrono::system_clock::time_point taken{};
  std::chrono::nanoseconds took{};
  std::chrono::nanoseconds pause{};  // that the process stood still
  bool server_gc = false;
  HeapGraph graph{};
  std::vector<HeapSegment> segments{};
  std::vector<EqualStrings> equal_strings{};   // most wasted bytes first; only if asked for
  std::vector<HandleCount> handles{};          // empty: unknown
  std::optional<std::uint64_t> finalizable{};  // objects with a finalizer that is not due
  std::optional<std::uint64_t> to_finalize{};  // objects that wait for their finalizer to run
  std::uint64_t unread_bytes = 0;              // of segments: could not be walked
  std::uint64_t unresolved_edges = 0;          // that lead to no known object
  std::vector<std::string> notes{};            // what could not be seen, and why, a line each
};

}  // namespace clrscope
