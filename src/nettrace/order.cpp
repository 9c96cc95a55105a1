#include "nettrace/order.h"

#include <algorithm>

namespace clrscope::nettrace {
namespace {

constexpr std::size_t kMaxHeld = 64 << 20;
constexpr std::size_t kPiece = 1 << 20;
constexpr std::size_t kBatch = 1024;

// A stretch of events in order; the one whose first is the earliest is the top of the heap.
struct Run {
  std::size_t at;
  std::size_t end;
};

}  // namespace

void TimeOrder::operator()(const Batch& batch) {
  const auto* info = reader_.info();
  if (info && info->version == 3) return on_batch_(batch);
  for (const auto& event : batch.events) hold(event);
  if (batch.sequence_point || held_bytes_ > kMaxHeld) flush(batch.sequence_point);
}

void TimeOrder::finish() { flush(nullptr); }

const std::uint8_t* TimeOrder::copy(Bytes bytes) {
  if (arena_.empty() || arena_.back().capacity() - arena_.back().size() < bytes.size()) {
    arena_.emplace_back();
    arena_.back().reserve(std::max(kPiece, bytes.size()));
  }
  auto& piece = arena_.back();
  const auto* begin = piece.data() + piece.size();
  piece.insert(piece.end(), bytes.begin(), bytes.end());
  return begin;
}

void TimeOrder::hold(const Event& event) {
  if (held_.empty() || event.time < held_.back().time) runs_.push_back(held_.size());
  auto& mine = held_.emplace_back(event);
  mine.payload = {copy(event.payload), event.payload.size()};
  const auto keep = [&](const Guid* guid) {
    return guid ? reinterpret_cast<const Guid*>(copy(guid->bytes)) : nullptr;
  };
  mine.activity = keep(event.activity);
  mine.related = keep(event.related);
  if (event.labels) mine.labels = &labels_.emplace_back(*event.labels);
  held_bytes_ += sizeof(Event) + event.payload.size();
}

// Merges the stretches: there are few, one or so per block.
void TimeOrder::flush(const SequencePoint* point) {
  std::vector<Run> heap;
  for (std::size_t i = 0; i < runs_.size(); ++i)
    heap.push_back({runs_[i], i + 1 < runs_.size() ? runs_[i + 1] : held_.size()});
  const auto later = [&](const Run& a, const Run& b) {
    return held_[a.at].time != held_[b.at].time ? held_[a.at].time > held_[b.at].time : a.at > b.at;
  };
  std::ranges::make_heap(heap, later);
  const auto hand_over = [&](const SequencePoint* then) {
    on_batch_({.events = out_, .sequence_point = then});
    out_.clear();
  };
  while (!heap.empty()) {
    std::ranges::pop_heap(heap, later);
    auto& run = heap.back();
    const auto& event = held_[run.at++];
    if (event.time < last_) ++late_;
    last_ = std::max(last_, event.time);
    out_.push_back(event);
    if (out_.size() == kBatch) hand_over(nullptr);
    if (run.at == run.end)
      heap.pop_back();
    else
      std::ranges::push_heap(heap, later);
  }
  if (!out_.empty() || point) hand_over(point);
  held_.clear();
  runs_.clear();
  labels_.clear();
  held_bytes_ = 0;
  if (arena_.size() > 1) arena_.resize(1);
  if (!arena_.empty()) arena_.front().clear();
}

}  // namespace clrscope::nettrace
