// The names of methods, taken early: a short session of its own whose only content is the rundown.
//
// A recording gets its method names when it stops, from a target that lives. Should the target die
// before, these are what is left. The runtime's work for it is the same as at the end of any
// recording.
#pragma once

#include <chrono>
#include <optional>
#include <thread>

#include "base/bytes.h"
#include "base/fd.h"
#include "ipc/endpoint.h"

namespace clrscope::collect {

class EarlyNames {
 public:
  // Begins after `delay`, on a thread of its own. Names go to an unlinked file in `folder`.
  EarlyNames(ipc::Endpoint& runtime, std::string folder, std::chrono::nanoseconds delay);

  // Waits until it is done, or gives up what is not. The trace with the names, mapped; empty when
  // there is none.
  Bytes take();
  ~EarlyNames();
  EarlyNames(const EarlyNames&) = delete;
  EarlyNames& operator=(const EarlyNames&) = delete;

 private:
  void run(std::stop_token stop, std::chrono::nanoseconds delay);

  ipc::Endpoint& runtime_;
  std::string folder_;
  UniqueFd file_;
  void* mapped_ = nullptr;
  std::size_t size_ = 0;
  std::jthread worker_;  // last: joins first
};

}  // namespace clrscope::collect
