// A batch of requests as a store takes it: columns, names by position, times of the wall clock.
//
// Data only. What comes from the network goes through check_batch() before a store sees it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "model/request.h"

namespace clrscope::store {

struct BatchSource {
  std::string host{};
  std::string service{};
  std::string version{};
  std::string instance{};  // bytes
  std::uint32_t pid = 0;
  std::string runtime{};
  std::string relay_version{};
};

struct BatchRecording {
  std::uint64_t seen = 0;
  std::uint64_t sampled = 0;
  std::uint64_t lost_requests = 0;
  std::uint64_t lost_spans = 0;
  std::uint64_t cpu_ns = 0;
  std::uint64_t lost_samples = 0;
};

enum RequestFlag : std::uint8_t {
  kSampled = 1,
  kForced = 2,
  kAborted = 4,
  kOwnId = 8,
};

// Names are positions in Batch::names, from 1; 0: none.
struct BatchRequest {
  TraceId trace_id{};
  std::int64_t begin = 0;  // unix nanoseconds
  std::uint64_t duration = 0;
  std::uint64_t running = 0;
  std::uint64_t waiting = 0;
  std::uint64_t queued = 0;
  std::uint64_t bytes_in = ~std::uint64_t{0};  // ~0: unknown
  std::uint64_t bytes_out = ~std::uint64_t{0};
  std::uint32_t method = 0;
  std::uint32_t route = 0;
  std::uint32_t path = 0;
  std::uint32_t error = 0;
  std::uint32_t spans_lost = 0;
  std::uint32_t spans = 0;  // how many of the columns are its own
  std::uint32_t steps = 0;
  std::uint32_t samples = 0;
  std::uint16_t status = 0;
  std::uint8_t flags = 0;
};

// The spans of all requests, one after the other. Parents and times are relative to the request.
struct BatchSpans {
  std::vector<std::uint32_t> method{}, parent{}, thread{}, kind{}, steps{};
  std::vector<std::uint64_t> begin{}, duration{}, self{}, queued{};
  std::vector<std::uint64_t> step_begin{}, step_duration{};
  std::vector<std::uint32_t> step_thread{};
};

// CPU samples of all requests, one after the other.
struct BatchSamples {
  std::vector<std::uint64_t> time{};    // after the begin of the request
  std::vector<std::uint64_t> weight{};  // CPU time that it stands for, nanoseconds
  std::vector<std::uint32_t> stack{};   // of Batch::stacks, from 1; 0: unknown
  std::vector<std::uint32_t> span{};    // of the request, from 1; 0: none of them ran
  std::vector<std::uint32_t> thread{};
};

// Call stacks as a tree: a caller is before its callees.
struct BatchStacks {
  std::vector<std::uint32_t> parent{};  // of these, from 1; 0: none
  std::vector<std::uint32_t> method{};  // name
};

struct Batch {
  std::string id{};
  BatchSource source{};
  std::int64_t created = 0;  // unix nanoseconds
  std::int64_t skew = 0;     // clock of the server - clock of the host, nanoseconds
  std::vector<std::string> names{};
  std::vector<BatchRequest> requests{};
  BatchSpans spans{};
  BatchStacks stacks{};
  BatchSamples samples{};
  std::uint64_t written_requests = 0;
  std::uint64_t written_spans = 0;
  std::uint64_t written_samples = 0;
  BatchRecording recording{};
};

// Whether every position is inside its table, all columns fit together, and no stack is deeper than
// kDeepestStack.
Result<> check_batch(const Batch& batch);

}  // namespace clrscope::store
