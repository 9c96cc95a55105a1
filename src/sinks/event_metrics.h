// Raw events as numbers, for sinks that only take numbers: how many of each kind came, or a named
// numeric field of theirs.
//
// field= of a sink names it ("Duration"); events without that field are only counted. Belongs to
// one thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "hub/sink.h"

namespace clrscope::sinks {

class EventMetrics {
 public:
  explicit EventMetrics(std::string field = {}) : field_(std::move(field)) {}

  void add(const hub::Batch& batch);
  // What came since the last call, as rates (counts) and means (the field), one for each process,
  // provider and event name. A count of zero follows the last of its kind, once. Kinds beyond the
  // first thousand are counted together, as "other".
  std::vector<hub::CounterValue> take(WallTime now, std::chrono::nanoseconds interval);

 private:
  struct Tally {
    std::uint64_t count = 0, measured = 0;
    double sum = 0, min = 0, max = 0;

    void measure(double value);
    void add(const Tally& other);
  };
  struct Kind {  // an event type of one reader
    std::string provider{}, name{};
    std::optional<std::size_t> field{};
    Tally tally{};
  };
  struct Reader {
    explicit Reader(const hub::Block& block);
    pid_t pid;
    std::string process;
    nettrace::PayloadPlans plans;
    std::vector<std::optional<Kind>> kinds{};  // by type index
    unsigned idle = 0;                         // calls of take() since the last event
  };
  struct Key {
    pid_t pid = 0;
    std::string process{}, provider{}, name{};
    friend auto operator<=>(const Key&, const Key&) = default;
  };

  Kind& kind_of(Reader& reader, const EventType& type);
  static hub::CounterValue value_of(const Key& key, WallTime now,
                                    std::chrono::nanoseconds interval);

  std::string field_;
  std::map<std::uint64_t, Reader> readers_;
  std::map<Key, Tally> told_;  // the last time
};

}  // namespace clrscope::sinks
