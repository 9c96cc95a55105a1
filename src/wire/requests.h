// The memory that the agent and clrscope share for request profiling: what to sample, counters, and
// rings of records.
//
// A sealed memfd of its own, passed with the reply to kRequestsOpen. clrscope writes the order, the
// agent everything else; neither trusts what it reads. The methods of spans are those of
// wire/probes.h: a span carries the number of a counter (ProbeMethod::counter). Compiles
// freestanding. Layout: docs/formats/agent.md
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "wire/arena.h"
#include "wire/records.h"

namespace clrscope::wire {

constexpr std::uint64_t kRequestsMagic = 0x3153'5145'524c'4331;
constexpr std::uint32_t kRequestRings = 64;  // the last one is shared by all further threads
constexpr std::uint32_t kMostDebugKey = 64;

// --- records ---

// Texts behind a RequestEnd, in this order, each of at most this many bytes of UTF-8.
constexpr std::uint32_t kMostMethodText = 16;  // "GET"
constexpr std::uint32_t kMostRouteText = 240;  // "/orders/{id}"; empty: no route matched
constexpr std::uint32_t kMostPathText = 240;   // "/orders/17"
constexpr std::uint32_t kMostErrorText = 120;  // type of the unhandled exception; empty: none

enum RequestFlags : std::uint16_t {
  kRequestForced = 1,     // chosen by the debug key
  kRequestFloor = 2,      // chosen because its path had not been sampled lately
  kRequestAborted = 4,    // the client went away
  kRequestOwnId = 8,      // the request had no trace id: this one was made by the agent
  kRequestRemainder = 16  // it had begun before the order
};

// A sampled request begins. `header.time` is its begin.
struct RequestBegin {
  RecordHeader header;
  std::uint8_t trace_id[16];
  std::uint64_t root;     // span of the request itself
  std::uint32_t request;  // number, from 1
  std::uint16_t flags;
  std::uint16_t reserved;
};

// A request has ended: every one that was seen, sampled or not. `header.time` is its end.
struct RequestEnd {
  RecordHeader header;
  std::uint64_t begin;
  std::uint8_t trace_id[16];
  std::uint64_t root;       // 0: not sampled
  std::uint64_t bytes_in;   // length of the body as announced; ~0: unknown
  std::uint64_t bytes_out;  // the same of the answer
  std::uint32_t request;    // 0: not sampled, there are no spans
  std::uint16_t status;
  std::uint16_t flags;
  std::uint16_t method_bytes;
  std::uint16_t route_bytes;
  std::uint16_t path_bytes;
  std::uint16_t error_bytes;
};

enum SpanFlags : std::uint32_t {
  kSpanAsync = 1,      // a step of an async method: the span goes on in other records of that id
  kSpanFirst = 2,      // of an async method: its first step
  kSpanSuspended = 4,  // of an async method: this step ended at an await that waits
  kSpanFaulted = 8,    // ended with an exception
  kSpanCancelled = 16  // ended with an OperationCanceledException
};

// A call of a method, or one step of an async method. Written when it ends; `header.time` is its
// begin. Those inside come before it.
struct SpanRecord {
  RecordHeader header;
  std::uint64_t end;
  std::uint64_t span;
  std::uint64_t parent;   // a span, or the root of the request; later steps of async methods: 0
  std::uint32_t request;  // its number
  std::uint32_t method;   // number of its counter
  std::uint32_t flags;    // SpanFlags
  std::uint32_t reserved;
};

// The thread worked for a request from `header.time` to `end`. Both are equal: it still does.
struct FlowRecord {
  RecordHeader header;
  std::uint64_t end;
  std::uint64_t span;
  std::uint32_t request;
  std::uint32_t reserved;
};

// The next step of an async method was given to the thread pool at `header.time`.
struct QueuedRecord {
  RecordHeader header;
  std::uint64_t span;
  std::uint32_t request;
  std::uint32_t reserved;
};

static_assert(sizeof(RequestBegin) == 48 && sizeof(RequestEnd) == 80 && sizeof(SpanRecord) == 56 &&
              sizeof(FlowRecord) == 40 && sizeof(QueuedRecord) == 32);

// Null unless the texts lie inside the record.
inline const RequestEnd* parse_request_end(const void* bytes, std::uint32_t size) {
  if (size < sizeof(RequestEnd)) return nullptr;
  const auto* end = static_cast<const RequestEnd*>(bytes);
  const std::uint32_t text =
      std::uint32_t{end->method_bytes} + end->route_bytes + end->path_bytes + end->error_bytes;
  return end->header.kind == RecordKind::kRequestEnd && end->header.bytes == size &&
                 end->method_bytes <= kMostMethodText && end->route_bytes <= kMostRouteText &&
                 end->path_bytes <= kMostPathText && end->error_bytes <= kMostErrorText &&
                 size == ((sizeof(RequestEnd) + text + 7) & ~7U)
             ? end
             : nullptr;
}

// --- the order ---

enum RequestOrderFlags : std::uint32_t {
  kSampleFixed = 1,  // `probability` as it is; otherwise the agent holds the budget
};

// What clrscope wants. In force from kRequestsStart on.
struct RequestOrder {
  std::uint32_t flags;
  std::uint32_t probability_ppm;  // of kSampleFixed
  std::uint32_t budget_ppm;       // of the CPU time of the process, for the agent's hooks
  std::uint32_t floor_seconds;    // a path that was not sampled for so long is sampled; 0: none
  std::uint32_t key_bytes;        // 0: no debug key
  std::uint8_t key[kMostDebugKey];
};

enum class HelperState : std::uint32_t {
  kAbsent = 0,   // the managed helper is not in the process
  kReady = 1,    // it waits
  kEnabled = 2,  // it hears requests
  kFailed = 3,
};

struct RequestsHeader {
  std::uint64_t magic;
  std::uint32_t protocol;
  std::uint32_t bytes;
  std::atomic<std::uint64_t> api;     // address, in the process, of what the helper calls
  std::atomic<std::uint32_t> helper;  // HelperState
  std::atomic<std::uint32_t> enabled;
  // Of this order.
  std::atomic<std::uint64_t> seen;     // requests that began
  std::atomic<std::uint64_t> sampled;  // with spans; among them:
  std::atomic<std::uint64_t> forced;
  std::atomic<std::uint64_t> by_floor;
  std::atomic<std::uint64_t> ended;  // of those seen
  std::atomic<std::uint64_t> spans;  // records that were written or dropped
  std::atomic<std::uint64_t> flows;
  std::atomic<std::uint32_t> in_flight;        // sampled ones
  std::atomic<std::uint32_t> probability_ppm;  // that holds now
  std::atomic<std::uint64_t> cost_ns;          // CPU time of the hooks, estimated
  std::atomic<std::uint64_t> hearing_ns;       // that part which requests cause, sampled or not
  std::atomic<std::uint64_t> process_ns;       // CPU time of the process meanwhile
  std::atomic<std::uint64_t> dropped_full;     // records: a ring was full
  std::atomic<std::uint64_t> dropped_busy;     // records: the shared ring was being written
  std::atomic<std::uint64_t> ends_dropped;     // those among them that were RequestEnd
};

struct Requests {
  alignas(64) RequestsHeader header;
  alignas(64) RequestOrder order;
  alignas(64) Ring rings[kRequestRings];
};
constexpr std::uint32_t kRequestsBytes = sizeof(Requests);

inline bool is_requests(const void* memory, std::uint64_t bytes, std::uint32_t protocol) {
  const auto& header = static_cast<const Requests*>(memory)->header;
  return bytes == kRequestsBytes && header.magic == kRequestsMagic && header.protocol == protocol &&
         header.bytes == kRequestsBytes;
}

}  // namespace clrscope::wire
