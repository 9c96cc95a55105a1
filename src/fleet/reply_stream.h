// An answer that leaves in pieces, to a client that may read slowly.
//
// While the client lags behind, its query waits and its place at the gate is free for others. It
// may lag for a minute in all; at most eight clients lag at a time. If there are more, the one that
// lagged longest is cut: its connection is closed, so that it sees that something is missing.
#pragma once

#include <chrono>
#include <list>
#include <memory>
#include <mutex>
#include <string>

#include "base/clock.h"
#include "base/result.h"
#include "fleet/query_gate.h"
#include "net/http_server.h"

namespace clrscope::fleet {

// Any thread.
class SlowClients {
 public:
  static constexpr std::size_t kMost = 8;
  explicit SlowClients(std::size_t most = kMost) : most_(most) {}

  // Waits until the client took what was sent; `patience` is what is left of its time. Fails if it
  // left or was cut.
  Result<> wait(net::HttpStream& stream, std::chrono::nanoseconds& patience);
  std::size_t waiting() const;

 private:
  struct Waiting {
    net::HttpStream* stream;
    TraceTime until;
  };
  const std::size_t most_;
  mutable std::mutex mutex_;
  std::list<Waiting> waiting_, cut_;  // under mutex_
};

// Of one answer, on one thread. Let go without end(), the connection is broken.
class ReplyStream {
 public:
  static constexpr std::chrono::seconds kPatience{60};
  // `pass`: of its query, if it has one.
  ReplyStream(net::HttpReply& reply, QueryGate::Pass* pass, SlowClients& slow,
              std::chrono::nanoseconds patience = kPatience)
      : reply_(reply), pass_(pass), slow_(slow), patience_(patience) {}

  // The head is that of the first piece.
  Result<> write(const net::HttpResponse& head, std::string piece);
  bool begun() const { return stream_ != nullptr; }
  // With the last piece, if it was begun.
  Result<> end(std::string rest);

 private:
  Result<> send(std::string piece);

  net::HttpReply& reply_;
  QueryGate::Pass* const pass_;
  SlowClients& slow_;
  std::chrono::nanoseconds patience_;
  std::shared_ptr<net::HttpStream> stream_{};
};

}  // namespace clrscope::fleet
