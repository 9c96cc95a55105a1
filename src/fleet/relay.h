// The relay: takes batches of clrscope from a pipe and delivers them to a fleet server, each once.
//
// Batches wait on disk (or in memory) until the server has acknowledged them; they are sent again,
// byte for byte, on the next stream. One thread sends, one takes acknowledgements; add() is called
// by whoever reads the pipe.
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "base/result.h"

namespace clrscope::fleet {

struct RelaySetting {
  std::string to{};                 // "grpc://HOST:PORT", or "grpcs://…" with TLS
  std::string ca_file{};            // whom to trust; empty: the system's certificates
  std::string token_file{};         // holds the token; empty: none
  std::string spool{};              // folder; empty: in memory
  std::uint64_t limit = 256 << 20;  // bytes that may wait
};

struct RelayState {
  std::uint64_t batches = 0;  // taken from the pipe
  std::uint64_t requests = 0, spans = 0, samples = 0;
  std::uint64_t delivered = 0, duplicates = 0;  // batches
  std::uint64_t refused = 0;                    // batches, by the server
  std::uint64_t dropped = 0;                    // batches, no room for them
  // Of these: dropped, or not a batch.
  std::uint64_t lost_requests = 0, lost_spans = 0, lost_samples = 0;
  std::uint64_t malformed = 0;  // frames that hold no batch
  std::uint64_t damaged = 0;    // places of the spool that were unreadable
  std::uint64_t waiting_bytes = 0;
  bool connected = false;
  std::string trouble{};  // why not, the last time
};

class Relay {
 public:
  static Result<std::unique_ptr<Relay>> start(RelaySetting setting);
  ~Relay();

  void add(std::string batch);  // a serialized RequestBatch
  // Waits until all is delivered, at most so long. True: nothing waits any more.
  bool drain(std::chrono::nanoseconds patience);
  RelayState state() const;

 private:
  class Impl;
  explicit Relay(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace clrscope::fleet
