// Where a runtime can be talked to. Every command takes a connection of its own.
#pragma once

#include <sys/types.h>

#include <array>
#include <cstdint>
#include <memory>
#include <string>

#include "base/clock.h"
#include "base/fd.h"
#include "base/result.h"

namespace clrscope::ipc {

class Endpoint {
 public:
  virtual ~Endpoint() = default;
  virtual Result<UniqueFd> connect(const Deadline& deadline) = 0;
  virtual std::string name() const = 0;  // for messages: the socket's path
  // The process at the other end, as the kernel said at the last connection; 0: unknown.
  virtual pid_t peer() const = 0;
};

// A runtime that listens: its default socket, or `DOTNET_DiagnosticPorts=path,listen`.
// Whoever listens on a path that the user named:
std::unique_ptr<Endpoint> connect_endpoint(std::string path);
// The socket of that process, at a path that discovery told. Anybody else behind it is an error.
std::unique_ptr<Endpoint> connect_endpoint(std::string path, pid_t process);

// A runtime that connects to us: `DOTNET_DiagnosticPorts=path` (connect is its default).
struct Advertisement {
  std::array<std::uint8_t, 16> cookie{};  // names one runtime instance
  std::uint64_t pid = 0;                  // in the runtime's own pid namespace
  std::int32_t peer = 0;                  // in ours; 0 when it is not visible here
};

// How much whoever connects to a port may take. Peers are counted by user, and by process where
// its pid is visible here.
struct PortLimits {
  std::size_t silent = 256;  // connections that have not said who they are
  std::size_t silent_per_user = 64;
  std::size_t silent_per_process = 8;
  std::size_t runtimes = 1000;
  std::size_t runtimes_per_user = 500;
  std::size_t runtimes_per_process = 8;
};

// Connections that a port has closed, or could not take.
struct PortRefusals {
  std::uint64_t silent = 0;     // too many that say nothing: the oldest went
  std::uint64_t impostors = 0;  // with the cookie of another process
  std::uint64_t excess = 0;     // runtimes beyond a limit
  std::uint64_t failed = 0;     // accept() failed: no descriptors left, for one
  std::uint64_t total() const { return silent + impostors + excess + failed; }
  bool operator==(const PortRefusals&) const = default;
};
// "3 silent, 1 with the cookie of another process"; empty when there are none.
std::string words_for(const PortRefusals& refused);

// Listens on a unix socket for runtimes. Each runtime keeps one idle connection here; taking it for
// a command makes the runtime connect again, which is the next one to take.
//
// A cookie belongs to the peer that said it first. Another peer that says it is refused.
class ReversePort {
 public:
  // `mode` says who may connect (default: the owner alone).
  static Result<std::unique_ptr<ReversePort>> listen(std::string path, mode_t mode = 0600,
                                                     const PortLimits& limits = {});
  virtual ~ReversePort() = default;  // removes the socket file

  // Waits for a runtime not seen before; nothing is taken from it.
  virtual Result<Advertisement> next_runtime(const Deadline& deadline) = 0;
  // Readable when a runtime has connected, for the first time or again. clear_news() before looking
  // what it was.
  virtual int news() const = 0;
  virtual void clear_news() = 0;
  // The endpoint of a runtime that has advertised itself. Must not outlive the port.
  virtual std::unique_ptr<Endpoint> endpoint(const Advertisement& runtime) = 0;
  // Whether it has a connection here that waits: not while it is busy with a command, nor after
  // its end.
  virtual bool waits(const Advertisement& runtime) const = 0;
  // It has ended: nothing is kept of it. Its endpoints find nobody any more.
  virtual void forget(const Advertisement& runtime) = 0;
  virtual PortRefusals refused() const = 0;
  virtual const std::string& path() const = 0;
};

}  // namespace clrscope::ipc
