// The names of all methods that a runtime has loaded when its recording begins, kept aside in an
// unlinked file in case it dies before it can tell them at the end.
//
// Belongs to one thread: read() now and then, it never waits.
#pragma once

#include <sys/types.h>

#include <memory>

#include "base/fd.h"
#include "base/result.h"
#include "collect/eventpipe/early_names.h"
#include "collect/eventpipe/session_end.h"
#include "ipc/commands.h"
#include "nettrace/reader.h"

namespace clrscope::collect {

class EarlyRundown {
 public:
  // `pid` as we see it.
  static Result<std::unique_ptr<EarlyRundown>> start(ipc::Endpoint& runtime, pid_t pid,
                                                     Rundown what);

  void read();
  bool open() const { return static_cast<bool>(session_.stream); }
  bool whole() const { return ended_; }
  // A part of it, from `at` on, which moves on: false at its end.
  Result<bool> replay_some(off_t& at, nettrace::Reader& reader,
                           const nettrace::OnBatch& take) const;
  // What came so far, event by event.
  Result<> replay(nettrace::Reader& reader, const nettrace::OnBatch& take) const;

 private:
  EarlyRundown(ipc::Endpoint& runtime, ipc::Session session, UniqueFd file, pid_t pid);

  ipc::Session session_;
  UniqueFd file_;
  bool ended_ = false;
  SessionEnd end_;  // last: its thread ends before what it uses goes
};

}  // namespace clrscope::collect
