#include "nettrace/capture.h"

namespace clrscope::nettrace {
namespace {

constexpr std::size_t kMaxThreads = 100'000;
constexpr std::size_t kMaxGone = 10'000;

CaptureThread to_public(const CaptureTable::Entry& e) {
  return {.id = e.id,
          .process = e.process,
          .thread = e.thread,
          .sequence = e.sequence.last,
          .events = e.events,
          .lost = e.lost};
}

}  // namespace

CaptureTable::Entry& CaptureTable::get(std::uint64_t id) {
  if (last_ && last_->id == id) return *last_;
  if (entries_.size() >= kMaxThreads && !entries_.contains(id)) make_room();
  auto& entry = entries_[id];
  entry.id = id;
  last_ = &entry;
  return entry;
}

CaptureTable::Entry* CaptureTable::find(std::uint64_t id) {
  const auto found = entries_.find(id);
  return found == entries_.end() ? nullptr : &found->second;
}

void CaptureTable::keep(const Entry& entry) {
  if (gone_.size() < kMaxGone && (entry.events > 0 || entry.lost > 0))
    gone_.push_back(to_public(entry)), gone_.back().live = false;
}

void CaptureTable::forget(std::uint64_t id) {
  const auto found = entries_.find(id);
  if (found == entries_.end()) return;
  keep(found->second);
  if (last_ == &found->second) last_ = nullptr;
  entries_.erase(found);
}

void CaptureTable::forget_all() {
  for (const auto& [id, entry] : entries_) keep(entry);
  entries_.clear();
  last_ = nullptr;
}

// A trace with this many threads has mostly dead ones. What is forgotten here is met again as new.
void CaptureTable::make_room() {
  std::erase_if(entries_, [](const auto& item) { return item.second.lost == 0; });
  if (entries_.size() >= kMaxThreads) forget_all();
  last_ = nullptr;
}

std::vector<CaptureThread> CaptureTable::list() const {
  auto out = gone_;
  for (const auto& [id, entry] : entries_)
    if (entry.sequence.last != 0 || entry.events > 0) out.push_back(to_public(entry));
  return out;
}

}  // namespace clrscope::nettrace
