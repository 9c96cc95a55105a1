// The last seconds of a V6 trace: whole blocks go in, the old ones fall out, what is left can be
// read as a trace.
//
// The trace is cut at its sequence points; what lies between two is a segment, kept in an unlinked
// file. Types and threads are kept all. Of a segment that falls out, the events that name something
// (processes, mappings, methods) are kept beside, since later events need them.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/fd.h"
#include "base/result.h"
#include "nettrace/convert.h"

namespace clrscope::collect {

class SegmentRing {
 public:
  SegmentRing(std::string folder, std::chrono::nanoseconds window)
      : folder_(std::move(folder)), window_(window) {}
  ~SegmentRing();
  SegmentRing(const SegmentRing&) = delete;
  SegmentRing& operator=(const SegmentRing&) = delete;

  // Whole blocks, in order, from the trace's first byte on. Ticks are nanoseconds.
  Result<> add(Bytes blocks);
  // From now on nothing falls out: what still comes are names.
  void freeze() { frozen_ = true; }

  // Hands over what is left as one trace, whose beginning is missing.
  Result<> replay(const std::function<Result<>(Bytes)>& take) const;
  // The naming events of what fell out, as a trace of its own; empty when nothing did. Once, at the
  // end; lives as long as this.
  Result<Bytes> names();

  std::size_t segments() const { return segments_.size(); }
  std::uint64_t held_bytes() const;

 private:
  struct Kept {  // bytes in a file without a name
    UniqueFd file{};
    std::uint64_t bytes = 0;
  };
  struct Segment {
    Kept kept{};
    std::int64_t newest = 0;
  };

  Result<> append(Kept& kept, Bytes bytes);
  Result<> drop_old();
  Result<> keep_names_of(const Segment& segment);

  std::string folder_;
  std::chrono::nanoseconds window_;
  std::vector<std::uint8_t> start_;  // the file's head and its trace block
  Kept ids_;                         // types and threads
  std::deque<Segment> segments_;
  std::int64_t newest_ = 0;
  bool frozen_ = false;
  Kept names_file_;
  std::unique_ptr<nettrace::Converter> names_;
  std::uint64_t ids_seen_ = 0;  // by names_
  void* mapped_ = nullptr;
};

}  // namespace clrscope::collect
