// Request profiling: which requests are sampled, the spans of their methods, and the records of
// both.
//
// A managed helper (dotnet/Clrscope.AspNetCore/RequestHelper.cs) hears when requests begin and end,
// and keeps the request of each thread right: a value of the ExecutionContext calls flow() whenever
// it changes. Instrumented methods call the probes below. All of these run on threads of the app,
// most of them in the middle of managed code: no lock, no wait, no call of the runtime.
#pragma once

#include "agent/sampling.h"
#include "agent/syscalls.h"
#include "wire/requests.h"
#include "wire/ring.h"

namespace clrscope::agent {

constexpr std::uint32_t kRequestsApiVersion = 3;

// What the helper says of a request that begins; it reads the rest.
struct BeginningRequest {
  std::uint64_t path_hash;
  std::uint8_t trace_id[16];
  std::uint8_t key[wire::kMostDebugKey];
  std::uint32_t key_bytes;
  std::uint16_t flags;  // RequestFlags
  std::uint16_t reserved;
  std::uint64_t begin;   // out: ticks
  std::uint64_t root;    // out: span of the request; 0: not sampled
  std::uint32_t number;  // out; 0: not sampled
};

// The functions of the helper that instrumented methods call.
struct HelperFunctions {
  std::uint64_t enter_step;  // int64 (int32 id, native int saved, int32 state), managed
  std::uint64_t fault;       // void (object exception, int64 start), managed
  std::uint64_t queued;      // int64 (int32 id, native int saved, object work), managed; returns 0
};

// What the helper calls, at the address in RequestsHeader::api.
struct RequestsApi {
  std::uint32_t version;
  std::uint32_t size;
  // Waits until the state differs from `seen`; returns it. Odd: hear requests.
  std::uint32_t (*wait)(std::uint32_t seen);
  void (*ready)(const HelperFunctions* functions);
  void (*heard)(std::uint32_t state);  // HelperState
  std::uint32_t (*begin)(BeginningRequest* request);
  void (*end)(void* record, std::uint32_t bytes);  // a wire::RequestEnd with its texts
  void (*flow)(std::uint32_t request, std::uint64_t span, std::uint32_t method);
  std::int64_t (*enter_step)(std::int32_t id, std::uint64_t* saved, std::int32_t state);
  std::uint64_t (*span_of)(std::int64_t start);  // of a step that began on this thread
  void (*fault)(std::uint32_t flags);
  void (*queued)(std::uint32_t request, std::uint64_t span);
  // The call of a plain method that this thread is in; 0: none, or only an async one.
  std::uint64_t (*plain_span)();
  // Nanoseconds that the helper took for the begin (0) or the end (1) of a request.
  void (*spent)(std::uint32_t which, std::uint64_t ns);
  const std::uint32_t* has_key;
};

class RequestTable {
 public:
  constexpr RequestTable() = default;

  // --- control thread ---
  // Makes the shared memory; true when it is there, also from an earlier time.
  bool open();
  int fd() const { return fd_; }
  // False: the helper is not in the process.
  bool start();
  // Requests that begin from now on are not seen; those in flight are until stop().
  void finish();
  void stop();
  void tick(std::uint64_t now_ns);

  static HelperFunctions helper();

 private:
  void look(std::uint64_t now_ns);

  wire::Requests* shared_ = nullptr;
  int fd_ = -1;
  Sampling sampling_;
  HookCounts last_{};
  std::uint64_t last_look_ns_ = 0;
  std::uint64_t first_process_ns_ = 0;
};

// For the rewriter.
std::uint64_t request_gate_address();
std::uint64_t request_enter_address();
std::uint64_t request_leave_address();
std::uint64_t request_leave_fault_address();
std::uint64_t request_leave_step_address();

// What instrumented methods call.
std::int64_t request_enter(std::int32_t id, std::uint64_t* saved);
void request_leave(std::int32_t id, std::int64_t start, std::uint64_t saved);
void request_leave_fault(std::int32_t id, std::int64_t start, std::uint64_t saved);
// A step of an async method. Negative: its first one; the caller must set the flow to the span of
// -result, then use -result.
std::int64_t request_enter_step(std::int32_t id, std::uint64_t* saved, std::int32_t state);
void request_leave_step(std::int32_t id, std::int64_t start, std::uint64_t saved,
                        std::int32_t state);

const RequestsApi& requests_api();

}  // namespace clrscope::agent
