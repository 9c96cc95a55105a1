// The parent's side of the worker: starts it, asks, serves the memory it wants to read, ends it.
//
// Whatever the worker does (crash, hang, nonsense, attempts to break out), the answer is an error
// that says so, and the process is ended and reaped. Belongs to one thread.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "base/fd.h"
#include "base/result.h"
#include "inspect/dac/wire.h"
#include "inspect/memory.h"

namespace clrscope::inspect::dac {

class WorkerProcess {
 public:
  // `library` is inherited by the worker as what it may load, `memory` as what it may read; without
  // the latter (-1) it asks us.
  static Result<std::unique_ptr<WorkerProcess>> start(int library, int memory);
  ~WorkerProcess();
  WorkerProcess(const WorkerProcess&) = delete;
  WorkerProcess& operator=(const WorkerProcess&) = delete;

  // One question, one answer. After an error of any other code than kNotFound and kUnsupported the
  // worker has been ended.
  Result<std::vector<std::uint8_t>> ask(Kind question, Bytes body, MemorySource& memory,
                                        std::chrono::nanoseconds patience);
  bool alive() const { return pid_ > 0; }
  pid_t pid() const { return pid_; }

 private:
  WorkerProcess(pid_t pid, UniqueFd socket) : pid_(pid), socket_(std::move(socket)) {}
  Result<std::vector<std::uint8_t>> exchange(Kind question, Bytes body, MemorySource& memory,
                                             const Deadline& deadline);
  // Ends and reaps it; how it had ended by itself, if it had: "it crashed (SIGSEGV)".
  std::string end();

  pid_t pid_;
  UniqueFd socket_;
};

}  // namespace clrscope::inspect::dac
