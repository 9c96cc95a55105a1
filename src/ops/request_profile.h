// Profiles the HTTP requests of a running ASP.NET Core process: the agent times methods by probes
// in their code, across awaits, and ties every call to its request.
//
// Loads the agent if it is not there. It stays afterwards: the runtime does not let a profiler
// leave that has changed code. All methods have their own code again when this returns.
#pragma once

#include <functional>

#include "analyze/request_document.h"
#include "collect/agent/requests.h"
#include "ops/agent.h"
#include "ops/request_uplink.h"
#include "ops/trace_bytes.h"

namespace clrscope::ops {

// Words of rooms below that are part of this interface.
using analyze::find_request;
using analyze::ProfiledRequest;
using analyze::request_document;
using analyze::RequestProfile;
using analyze::requests_document;
using analyze::routes_document;
using analyze::WaterfallStyle;
using collect::SamplingOptions;

struct ProfileRequest {
  ListenRequest listen{};
  std::vector<std::string> include{};  // method patterns; required
  std::vector<std::string> exclude{};
  std::uint32_t smallest_il = 0;  // bytes of IL
  bool with_accessors = false;    // trivial getters and setters too
  SamplingOptions sampling{};
  // Of one processor, that the probes of one method may cost in requests that are not sampled: one
  // that costs more gets its own code back; 0: any.
  double method_percent = 2;
  std::string output{};    // a .nettrace file; empty: none
  bool samples = true;     // CPU samples of the process, in that file and to the fleet server
  std::string trace_id{};  // or the beginning of one: requests that have it are kept in any case
  std::optional<UplinkRequest> uplink{};
};

struct ProfileWatcher {
  std::function<void()> on_start{};                        // requests are heard from now on
  std::function<void(const RequestProfile&)> on_status{};  // each second
  // Asked before each on_status: whether that one has the requests that are kept so far. It has
  // none where they are so many that telling them would hold up the hearing.
  std::function<bool()> wants_requests{};
  std::function<Result<>(const RequestBatch&)> on_batch{};  // requests that have ended
  std::function<void()> on_exit{};                          // the process has ended
};

Result<RequestProfile> profile_requests(const ProfileRequest& request,
                                        const ProfileWatcher& watcher = {});

// The profile in a recording of it. `trace_id` as above.
Result<RequestProfile> recorded_requests(const std::string& path, const std::string& trace_id,
                                         const TraceLimits& limits = {});

// "auto", "0.1", "10%".
Result<std::optional<double>> parse_probability(std::string_view text);

}  // namespace clrscope::ops
