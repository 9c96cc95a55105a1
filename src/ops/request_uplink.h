// Hands profiled requests to clrscope-fleet, which sends them to a fleet server.
//
// The relay is another program (gRPC is not in this one): it is started here and gets frames on its
// standard input. Nothing here waits for it: what it does not take stays in memory up to a limit,
// and is counted as lost beyond that.
#pragma once

#include <sys/types.h>

#include <string>

#include "analyze/request_answers.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/result.h"
#include "ops/central_settings.h"
#include "uplink/batch_encoder.h"

namespace clrscope::ops {

struct UplinkRequest {
  std::string to{};          // grpc://HOST:PORT, grpcs://HOST:PORT, or file:PATH
  std::string token_file{};  // empty: none
  std::string ca_file{};     // empty: the certificates of the system
  std::string spool{};       // folder where batches wait; empty: in memory
  std::string service{};     // empty: the name of the process
  std::string version{};     // of the service
  unsigned rate = 99;        // CPU samples a second
  bool central = true;       // the server may change patterns, sampling and budget
  // That such a change may take; then what was before stays.
  std::chrono::nanoseconds change_timeout{std::chrono::minutes{2}};

  bool is_file() const { return to.starts_with("file:"); }
};

// Words of rooms below that are part of this interface.
using analyze::SentRequests;

class RequestUplink {
 public:
  static Result<RequestUplink> start(const UplinkRequest& request, const uplink::Source& source);
  RequestUplink(RequestUplink&&) noexcept = default;
  RequestUplink& operator=(RequestUplink&&) = delete;
  ~RequestUplink();

  // An error when the relay has ended.
  Result<> send(const RequestBatch& batch, const uplink::Recording& recording);
  // Which settings are in force: 0: those of the start. `trouble`: why not newer ones.
  Result<> tell(std::uint64_t configuration, std::string_view trouble);
  // What the server wants since the last call; waits so long for it.
  std::optional<CentralSettings> take_settings(std::chrono::milliseconds patience = {});
  // Until all is delivered, or the relay gives up.
  SentRequests finish();

 private:
  RequestUplink(std::string to, uplink::Source source)
      : source_(source), encoder_(std::move(source)), answer_{.to = std::move(to)} {}
  Result<> push();
  // What the relay has said, if it says something within that time. False: it has ended.
  bool listen(int patience_ms);

  uplink::Source source_;
  uplink::BatchEncoder encoder_;
  SentRequests answer_;
  uplink::Recording held_;  // of batches that did not fit
  std::string waiting_;     // frames that the relay has not taken
  std::size_t taken_ = 0;
  pid_t relay_ = 0;
  UniqueFd input_;     // of the relay
  UniqueFd said_;      // by the relay
  std::string lines_;  // of it, that were not taken
};

}  // namespace clrscope::ops
