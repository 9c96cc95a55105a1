// HTTP requests that ASP.NET Core is serving: age, path, route, trace id and async stack of each.
//
//   auto seen = read_requests(*twin.target, *reader, heap, &threads, std::move(async), now);
//
// A request is in flight while its HttpContext is active: servers keep contexts and use them again,
// and only the hosting layer says which serve a request. Everything comes from objects of the heap:
// what they do not tell is empty or unknown, never guessed.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "inspect/async/async.h"
#include "model/heap.h"

namespace clrscope::inspect {

// What tells when a request began.
enum class AgeSource : std::uint8_t {
  kUnknown,   // nothing does
  kHosting,   // ASP.NET Core's own measurement, which metrics, events and logs switch on
  kActivity,  // the start of its System.Diagnostics.Activity
};
std::span<const std::string_view> names_of(AgeSource);

struct RequestInFlight {
  std::uint64_t context = 0;  // address of its HttpContext
  AgeSource age_source = AgeSource::kUnknown;
  std::optional<std::chrono::nanoseconds> age{};
  std::optional<std::chrono::system_clock::time_point> started{};
  std::string method{}, path{}, protocol{};  // "GET", "/orders/17", "HTTP/1.1"
  std::string route{};                       // pattern: "/orders/{id}"
  std::string endpoint{};                    // display name: "HTTP: GET /orders/{id}"
  std::string operation{};                   // of its Activity
  std::string trace_id{}, span_id{};         // of its Activity, or of the header traceparent
  std::string connection_id{}, request_id{};
  bool upgraded = false;  // to a WebSocket, for example: it may last

  std::optional<AsyncWait> wait{};  // what its innermost async method waits for
  // Innermost first, up to the server's loop; names are in RequestsSnapshot::async.
  std::vector<AsyncStep> steps{};
  std::uint32_t stacks = 0;     // async stacks that belong to it, where it waits for several things
  std::uint32_t thread = 0;     // OS id of the thread that runs it; 0: none, or unknown
  std::vector<Frame> frames{};  // of the thread, managed ones, down to the innermost async method
};

struct RequestsSnapshot {
  AsyncSnapshot async{};                    // where the requests were read: process, pause, notes
  std::vector<RequestInFlight> requests{};  // the oldest first, then those of unknown age
  std::uint64_t contexts = 0;               // HttpContexts in the heap, those not in use included
  std::uint64_t cut = 0;                    // requests beyond what is kept
};

// In a heap without objects of this type no request is in flight: then it needs no references.
inline constexpr std::string_view kHttpContextType = "Microsoft.AspNetCore.Http.DefaultHttpContext";

struct RequestClock {
  std::chrono::system_clock::time_point wall{};
  std::chrono::nanoseconds monotonic{};  // CLOCK_MONOTONIC
};

// `now`: when the target was frozen. Without it, as of a core, Kestrel's clocks in the target's
// memory are used, which advance once a second. `threads` may be null.
RequestsSnapshot read_requests(Target& target, RuntimeReader& reader, const HeapSnapshot& heap,
                               const Snapshot* threads, AsyncSnapshot async,
                               std::optional<RequestClock> now);

}  // namespace clrscope::inspect
