// Recorded batches, rewritten so that they come from another host at another time. No I/O.
#pragma once

#include <clrscope/fleet/v1/batch.pb.h>

#include <chrono>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"

namespace clrscope::fleet {

class ReplayedHosts {
 public:
  // `frames`: as the relay reads them. `seed`: other numbers make other hosts and trace ids.
  static Result<ReplayedHosts> read(std::string_view frames, std::size_t hosts, std::uint64_t seed);

  // The next batch, serialized: every host sends one, then every host the next one. Each begins
  // at another place of the recording, and after its end from the first batch again.
  std::string next(WallTime now);
  std::size_t next_host() const { return sent_ % counts_.size(); }
  // Batches per second of all hosts, if each sends as the recorded one did.
  double per_second() const {
    return static_cast<double>(counts_.size() * batches_.size()) /
           std::chrono::duration<double>{length_}.count();
  }

 private:
  struct Counts {
    std::uint64_t requests = 0, spans = 0, samples = 0;
  };

  std::vector<v1::RequestBatch> batches_;
  std::chrono::nanoseconds length_{};  // of the recording
  std::vector<Counts> counts_;         // written so far, by host
  std::uint64_t seed_ = 0;
  std::uint64_t sent_ = 0;
};

}  // namespace clrscope::fleet
