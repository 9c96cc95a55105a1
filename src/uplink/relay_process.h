// The relay of this host as a child process: clrscope-fleet relay, fed with frames.
//
//   auto relay = TRY(RelayProcess::start({.to = "grpc://127.0.0.1:52330"}));
//   for (const auto& batch : encoder.encode(…)) relay->send(batch);
//   relay->finish();
//
// One thread. The relay buffers, resends and counts: send() waits only as long as a pipe is full.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/fd.h"
#include "base/result.h"

namespace clrscope::uplink {

struct RelayCommand {
  std::string program{};  // empty: clrscope-fleet beside this program
  std::string to{};
  std::string ca_file{};
  std::string token_file{};
  std::string spool{};
  std::string spool_limit{};
  std::string linger{};
};

class RelayProcess {
 public:
  static Result<std::unique_ptr<RelayProcess>> start(RelayCommand command);
  ~RelayProcess();  // closes the pipe; the relay goes on delivering by itself

  // A serialized batch. When the relay has died it is started again and the batch is dropped: the
  // dead one may have taken it, and sending it again would store it twice. The totals of the next
  // batch tell the server if it was lost.
  Result<> send(std::string_view batch);
  // Ends the input and waits for the relay. Its exit code: 2 when something was lost.
  Result<int> finish();

  pid_t pid() const { return pid_; }
  std::uint64_t restarts() const { return restarts_; }

 private:
  explicit RelayProcess(RelayCommand command) : command_(std::move(command)) {}
  Result<> spawn();
  int reap();

  const RelayCommand command_;
  UniqueFd pipe_;
  pid_t pid_ = 0;
  std::uint64_t restarts_ = 0;
};

}  // namespace clrscope::uplink
