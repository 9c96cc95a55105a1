// Puts the events of several processes in order of time: holds them until nothing earlier is to be
// expected, or too many are held.
//
// Holds blocks, copies nothing. Belongs to one thread.
#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <vector>

#include "hub/block.h"

namespace clrscope::sinks {

class TimeOrder {
 public:
  using Visit = std::function<void(const hub::Block&, std::uint32_t row)>;

  explicit TimeOrder(std::size_t most_held = 100'000) : most_held_(most_held) {}

  void add(const hub::Batch& batch);
  // Those up to that time, the earliest first; those beyond the limit too.
  void take(TraceTime until, const Visit& visit);
  bool full() const { return held_.size() > most_held_; }

 private:
  struct Kept {
    std::shared_ptr<const hub::Block> block;
    std::size_t left;  // rows still held
  };
  struct Held {
    TraceTime time;
    Kept* kept;
    std::uint32_t row;
  };

  std::size_t most_held_;
  std::list<Kept> kept_;
  std::vector<Held> held_;
};

}  // namespace clrscope::sinks
