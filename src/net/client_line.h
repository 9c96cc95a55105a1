// A client's connection, plain or TLS, for a thread that may wait: what the HTTP and gRPC clients
// share. For those two only.
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/fd.h"
#include "base/result.h"
#include "net/socket.h"
#include "net/tls.h"

namespace clrscope::net {

class ClientLine {
 public:
  // `context`: of TLS; none yet: one that trusts the system's authorities is made. `interrupted`
  // outlives the line. `protocol`: what both must agree on in TLS (ALPN); empty: nothing.
  static Result<std::unique_ptr<ClientLine>> open(bool tls, const Address& address,
                                                  std::shared_ptr<TlsContext>& context,
                                                  const std::atomic<bool>& interrupted,
                                                  const Deadline& deadline,
                                                  const std::string& protocol = {});

  ClientLine(UniqueFd fd, const std::atomic<bool>& interrupted)
      : fd_(std::move(fd)), interrupted_(interrupted) {}

  Result<> send(std::string_view bytes, const Deadline& deadline);
  // Appends; false at the end.
  Result<bool> receive(std::string& into, const Deadline& deadline);

 private:
  Result<> agree(const Deadline& deadline);
  Result<std::size_t> some(std::span<std::uint8_t> into, const Deadline& deadline);
  Result<> flush(const Deadline& deadline);
  Result<std::size_t> more(const Deadline& deadline);

  UniqueFd fd_;
  const std::atomic<bool>& interrupted_;
  std::optional<TlsSession> session_{};
};

}  // namespace clrscope::net
