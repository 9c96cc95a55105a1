// The last seconds of a stream: whole blocks go in, the old ones fall out, what is left can be read
// as a trace.
//
// The stream is cut at its sequence points, where nothing later refers to anything earlier but the
// metadata, which is all kept. So a little more than the window stays (one stretch between sequence
// points); who reads it drops what is too old. Blocks lie in unlinked files, so that memory does
// not grow with the rate.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/fd.h"
#include "base/result.h"

namespace clrscope::collect {

class FlightRing {
 public:
  FlightRing(std::string folder, std::chrono::nanoseconds window)
      : folder_(std::move(folder)), window_(window) {}

  // Whole blocks of a V4 stream, in order, from its first byte on.
  Result<> add(Bytes blocks);

  // Hands over what is left as one V4 stream.
  Result<> replay(const std::function<Result<>(Bytes)>& take) const;

  // From now on nothing falls out: what still comes is the rundown.
  void freeze() { frozen_ = true; }

  std::uint64_t held_bytes() const;
  std::size_t stretches() const { return stretches_.size(); }

 private:
  // From one sequence point to the next.
  struct Stretch {
    UniqueFd file;
    std::uint64_t bytes = 0;
    std::int64_t newest = 0;  // ticks of its last event
  };

  Result<> keep(Bytes object, std::int64_t newest);
  void drop_old();

  std::string folder_;
  std::chrono::nanoseconds window_;
  std::uint64_t offset_ = 0;  // in the stream that comes in
  std::int64_t newest_ = 0;   // ticks, which are nanoseconds on Linux
  bool frozen_ = false;
  std::vector<std::uint8_t> start_;     // magic and trace object
  std::vector<std::uint8_t> metadata_;  // every metadata block so far
  std::deque<Stretch> stretches_;
};

}  // namespace clrscope::collect
