// HTTP requests of a process as the agent records them: the request, and the spans of its methods.
//
// A span is one call of a method. The span of an async method covers all its awaits; its steps say
// when it ran. What lies between the steps is waiting, of which `queued` was spent in the queue of
// the thread pool. Times are of the model's clock.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "base/clock.h"

namespace clrscope {

using TraceId = std::array<std::uint8_t, 16>;  // W3C; all zero: none

// Calls in a stack, and spans in one another, as a batch may have them.
inline constexpr std::size_t kDeepestStack = 2048;

// When a thread worked for a request or a span.
struct RunningPart {
  TraceTime begin{};
  TraceTime end{};
  std::uint32_t thread = 0;           // OS thread id
  std::chrono::nanoseconds queued{};  // of a step: in the queue of the thread pool before it began
};

enum class SpanOutcome : std::uint8_t {
  kReturned = 0,
  kFaulted = 1,    // with an exception
  kCancelled = 2,  // with an OperationCanceledException
  kOpen = 3,       // had not ended when its request was handed over
};

struct RequestSpan {
  std::uint64_t id = 0;
  std::uint64_t parent = 0;  // 0: the request itself
  std::uint32_t method = 0;  // index in RequestBatch::methods
  bool is_async = false;
  SpanOutcome outcome = SpanOutcome::kReturned;
  TraceTime begin{};
  TraceTime end{};
  std::chrono::nanoseconds queued{};
  std::vector<RunningPart> steps{};  // of async methods; others run all the time on one thread
  std::uint32_t thread = 0;          // where it began
};

// A CPU sample that was taken while a thread worked for a request.
struct RequestSample {
  TraceTime time{};
  std::uint32_t thread = 0;
  std::uint32_t stack = 0;            // of RequestBatch::stacks, from 1; 0: unknown
  std::chrono::nanoseconds weight{};  // CPU time that it stands for
};

struct RequestTrace {
  std::uint64_t number = 0;  // of the sampled ones, from 1; 0: not sampled, no spans
  TraceId trace_id{};
  bool own_id = false;   // the request carried no trace id
  std::string method{};  // "GET"
  std::string route{};   // "/orders/{id}"; empty: none matched
  std::string path{};    // "/orders/17"
  std::string error{};   // type of the unhandled exception; empty: none
  std::uint16_t status = 0;
  bool sampled = false;
  bool forced = false;
  bool aborted = false;
  TraceTime begin{};
  TraceTime end{};
  std::chrono::nanoseconds running{};  // threads worked for it; more than its duration: in parallel
  std::chrono::nanoseconds waiting{};  // no thread worked for it; queued is part of it
  std::chrono::nanoseconds queued{};
  std::uint64_t bytes_in = ~std::uint64_t{0};  // ~0: unknown
  std::uint64_t bytes_out = ~std::uint64_t{0};
  std::vector<RequestSpan> spans{};      // by begin; a parent before its children
  std::vector<RunningPart> parts{};      // when threads worked for it, by begin
  std::uint32_t spans_lost = 0;          // known to be missing
  std::vector<RequestSample> samples{};  // by time
};

// Some requests that have ended, and the names of their methods. A table of methods only grows: an
// index of an earlier batch of the same process stays what it was.
struct RequestBatch {
  std::vector<std::string> methods{};  // "Shop.Orders.PlaceAsync": async ones by their own name
  std::vector<RequestTrace> requests{};
  // The stacks of CPU samples as a tree: a caller is before its callees.
  struct Stack {
    std::uint32_t parent = 0;  // of these, from 1; 0: none
    std::uint32_t frame = 0;   // index in `frames`
  };
  std::vector<Stack> stacks{};
  std::vector<std::string> frames{};  // methods, "Shop.Orders.Place(System.Int32)"
};

}  // namespace clrscope
