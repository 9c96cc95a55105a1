// Puts the events of a trace in order of time, as they happened over all threads.
//
// A trace has them in order per capture thread only; between two sequence points the threads follow
// each other. So this holds events (and copies what they point to) until the next sequence point,
// at most 64 MB: a trace without sequence points comes out in order piece by piece. V3 passes
// through.
//
//   Reader reader;
//   TimeOrder in_order{reader, [&](const Batch& batch) { … reader.stack(event.stack) … }};
//   TRY(reader.feed(chunk, std::ref(in_order)));
//   TRY(reader.finish(std::ref(in_order)));
//   in_order.finish();
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "nettrace/reader.h"

namespace clrscope::nettrace {

class TimeOrder {
 public:
  TimeOrder(const Reader& reader, OnBatch on_batch)
      : reader_(reader), on_batch_(std::move(on_batch)) {}

  void operator()(const Batch& batch);
  void finish();

  std::uint64_t late() const { return late_; }  // events handed over after later ones

 private:
  void hold(const Event& event);
  void flush(const SequencePoint* point);
  const std::uint8_t* copy(Bytes bytes);

  const Reader& reader_;
  OnBatch on_batch_;
  std::vector<Event> held_;
  std::vector<std::size_t> runs_;  // where in held_ a stretch in order of time begins
  std::deque<std::vector<std::uint8_t>> arena_;
  std::size_t held_bytes_ = 0;
  std::deque<EventLabels> labels_;
  std::vector<Event> out_;
  TraceTime last_{TraceTime::min()};
  std::uint64_t late_ = 0;
};

}  // namespace clrscope::nettrace
