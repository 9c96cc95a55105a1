// Calls a method of a gRPC server and waits for the answer: one message there, one back, for a
// thread that may wait. HTTP/2 by libnghttp2, which no other file sees.
//
// Keeps its connection between calls. One client belongs to one thread.
// Protocol: github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "net/http_message.h"
#include "net/socket.h"
#include "net/tls.h"

namespace clrscope::net {

enum class GrpcStatus : int {
  kOk = 0,
  kCancelled = 1,
  kUnknown = 2,
  kDeadlineExceeded = 4,
  kPermissionDenied = 7,
  kResourceExhausted = 8,
  kAborted = 10,
  kOutOfRange = 11,
  kUnimplemented = 12,
  kInternal = 13,
  kUnavailable = 14,
  kDataLoss = 15,
  kUnauthenticated = 16,
};
std::string status_text(GrpcStatus status);  // "UNAVAILABLE"; "status 99"

struct GrpcAnswer {
  GrpcStatus status = GrpcStatus::kUnknown;
  std::string message{};  // the server's reason; whatever bytes it likes
  std::string details{};  // grpc-status-details-bin, as it came
  std::string body{};     // where the status is kOk
};

struct GrpcTarget {
  bool tls = false;
  Address address{};

  std::string text() const;  // "grpcs://host:4317"
};
// "grpc://host:4317", "grpcs://[::1]"; a port that is not named is 4317.
Result<GrpcTarget> parse_grpc_target(std::string_view text);

class GrpcClient {
 public:
  // `tls`: for grpcs (default: trusts the system's certificate authorities).
  explicit GrpcClient(GrpcTarget target, std::shared_ptr<TlsContext> tls = {});
  ~GrpcClient();

  // `method`: "/package.Service/Method". Any status is a success here; a failure is a connection
  // that broke or a peer that does not speak gRPC. The answer's body is limited to a megabyte.
  Result<GrpcAnswer> call(const std::string& method, const std::vector<HttpField>& fields,
                          std::string_view message, const Deadline& deadline);
  const GrpcTarget& target() const { return target_; }
  // Any thread: an answer that is waited for is given up within a fifth of a second; so are those
  // asked for later.
  void interrupt() { interrupted_ = true; }

 private:
  class Connection;
  struct Attempt {
    bool answered = false;  // headers of the answer came
  };
  Result<GrpcAnswer> call_once(const std::string& method, const std::vector<HttpField>& fields,
                               std::string_view message, const Deadline& deadline,
                               Attempt& attempt);

  GrpcTarget target_;
  std::shared_ptr<TlsContext> tls_;
  std::atomic<bool> interrupted_{false};
  std::unique_ptr<Connection> connection_;
};

}  // namespace clrscope::net
