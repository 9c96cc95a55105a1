// HTTP requests in flight in JSON, made from a RequestsSnapshot.
#pragma once

#include "inspect/answer.h"
#include "inspect/async/answer.h"
#include "inspect/async/requests.h"

namespace clrscope::inspect {

struct RequestAnswer {
  std::optional<std::chrono::nanoseconds> age{};
  AgeSource age_source = AgeSource::kUnknown;
  std::optional<std::chrono::system_clock::time_point> started{};
  std::string method{}, path{}, protocol{}, route{}, endpoint{}, operation{};
  std::string trace_id{}, span_id{}, connection_id{}, request_id{};
  std::string context{};
  bool upgraded = false;
  std::optional<AsyncWaitAnswer> wait{};
  std::vector<AsyncFrameAnswer> frames{};
  std::uint32_t stacks = 0;
  std::uint32_t thread = 0;
  std::vector<FrameAnswer> thread_frames{};
};
const Shape& shape_of(const RequestAnswer*);

struct RequestsAnswer {
  pid_t pid = 0;
  std::string process{};
  std::string runtime{};
  HeapSource source = HeapSource::kTwin;
  std::chrono::nanoseconds pause{};
  std::chrono::nanoseconds duration{};
  std::uint64_t contexts = 0;
  std::uint64_t in_flight = 0;
  std::vector<RequestAnswer> requests{};
  std::vector<std::string> notes{};
};
const Shape& shape_of(const RequestsAnswer*);
RequestsAnswer answer_of(const RequestsSnapshot& seen);

}  // namespace clrscope::inspect
