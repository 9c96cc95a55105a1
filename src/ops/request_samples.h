// CPU samples of a process while its requests are profiled: each is given to the request that its
// thread worked for.
//
// Samples are taken on a thread of their own, as top takes them. All other calls come on one
// thread.
#pragma once

#include <sys/types.h>

#include <thread>

#include "analyze/sampled_requests.h"
#include "base/fd.h"
#include "base/guarded.h"

namespace clrscope::ops {

class RequestSamples {
 public:
  RequestSamples(pid_t pid, unsigned rate);
  ~RequestSamples();
  RequestSamples(const RequestSamples&) = delete;
  RequestSamples& operator=(const RequestSamples&) = delete;

  // Requests that have ended; gives back those whose samples have come.
  RequestBatch exchange(RequestBatch batch, TraceTime now);
  // Ends sampling; gives back what is left.
  RequestBatch finish();

  std::uint64_t lost() const;   // samples
  std::string trouble() const;  // why there are none

 private:
  void run();
  void stop();

  struct State {
    analyze::SampledRequests requests{};
    std::uint64_t lost = 0;  // by the kernel
    TraceTime shown{};       // up to when samples were shown
    std::string trouble{};
  };
  const pid_t pid_;
  const unsigned rate_;
  const UniqueFd stop_;
  Guarded<State> state_;
  std::jthread thread_;  // last: joins first
};

}  // namespace clrscope::ops
