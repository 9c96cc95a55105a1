// Raw events as numbers, for sinks that only take numbers: how many of each kind came, or a named
// numeric field of theirs.
//
// field= of a sink names it ("Duration"); events without that field are only counted. Belongs to
// one thread.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "hub/sink.h"

namespace clrscope::sinks {

class EventMetrics {
 public:
  explicit EventMetrics(std::string field = {}) : field_(std::move(field)) {}

  void add(const hub::Batch& batch);
  // What came since the last call, as rates (counts) and means (the field), one for each process,
  // provider and event name.
  std::vector<hub::CounterValue> take(WallTime now, std::chrono::nanoseconds interval);

 private:
  std::string field_;
};

}  // namespace clrscope::sinks
