#include "fleet/trace_tree.h"

#include <algorithm>
#include <unordered_map>

namespace clrscope::fleet {
namespace {

using std::chrono::nanoseconds;

constexpr nanoseconds kSlack = std::chrono::milliseconds{1};  // between clocks of one machine
constexpr std::size_t kNone = ~std::size_t{0};
constexpr std::size_t kMostPlaced = 2000;  // requests; nobody can read a larger tree

struct Entry {
  bool is_request = false;
  std::uint32_t index = 0;
  WallTime begin{};
  nanoseconds duration{};
  std::size_t parent = kNone;
  bool by_time = false;

  WallTime end() const { return begin + duration; }
  bool contains(const Entry& other) const {
    return begin - kSlack <= other.begin && other.end() <= end() + kSlack &&
           duration >= other.duration;
  }
};

class Placing {
 public:
  Placing(std::span<const store::StoredRequest> requests, std::span<const store::OtlpSpan> spans)
      : spans_(spans) {
    for (std::uint32_t i = 0; i < requests.size(); ++i)
      entries_.push_back({.is_request = true,
                          .index = i,
                          .begin = requests[i].begin,
                          .duration = requests[i].duration});
    requests_ = entries_.size();
    for (std::uint32_t i = 0; i < spans.size(); ++i)
      entries_.push_back({.index = i, .begin = spans[i].begin, .duration = spans[i].duration});
  }

  std::vector<Entry> place() {
    by_span_id();
    children_.resize(entries_.size());
    for (std::size_t i = 0; i < entries_.size(); ++i)
      if (entries_[i].parent != kNone) children_[entries_[i].parent].push_back(i);
    marked_.resize(entries_.size());
    const auto placed = std::min(requests_, kMostPlaced);
    for (std::size_t i = 0; i < placed; ++i) by_time(i, entries_.size());
    for (std::size_t i = requests_; i < entries_.size(); ++i)
      if (entries_[i].parent == kNone && !spans_[entries_[i].index].parent_id.empty())
        by_time(i, placed);
    return std::move(entries_);
  }

 private:
  void by_span_id() {
    std::unordered_map<std::string_view, std::size_t> ids;
    for (auto i = requests_; i < entries_.size(); ++i)
      ids.try_emplace(spans_[entries_[i].index].span_id, i);
    for (auto i = requests_; i < entries_.size(); ++i)
      if (const auto found = ids.find(spans_[entries_[i].index].parent_id);
          found != ids.end() && !is_above(i, found->second))
        entries_[i].parent = found->second;
  }

  // Below the shortest of the first `last` that contains it.
  void by_time(std::size_t at, std::size_t last) {
    mark_below(at);
    auto best = kNone;
    for (std::size_t i = 0; i < last; ++i)
      if (marked_[i] != at + 1 && entries_[i].contains(entries_[at]) &&
          (best == kNone || entries_[i].duration < entries_[best].duration))
        best = i;
    entries_[at].parent = best;
    entries_[at].by_time = best != kNone;
    if (best != kNone) children_[best].push_back(at);
  }

  // It, and all that lies below it.
  void mark_below(std::size_t at) {
    open_.assign(1, at);
    while (!open_.empty()) {
      const auto one = open_.back();
      open_.pop_back();
      marked_[one] = at + 1;
      open_.insert(open_.end(), children_[one].begin(), children_[one].end());
    }
  }

  // Whether `above` is `at` or one of those that it lies below.
  bool is_above(std::size_t above, std::size_t at) const {
    for (; at != kNone; at = entries_[at].parent)
      if (at == above) return true;
    return false;
  }

  std::span<const store::OtlpSpan> spans_;
  std::vector<Entry> entries_;
  std::size_t requests_ = 0;
  std::vector<std::vector<std::size_t>> children_;
  std::vector<std::size_t> marked_;  // 1 + the entry that it lies below
  std::vector<std::size_t> open_;
};

}  // namespace

std::vector<TraceLine> trace_tree(std::span<const store::StoredRequest> requests,
                                  std::span<const store::OtlpSpan> spans) {
  const auto entries = Placing{requests, spans}.place();
  if (entries.empty()) return {};
  auto first = WallTime::max();
  std::vector<std::vector<std::size_t>> children(entries.size());
  std::vector<std::size_t> open;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    first = std::min(first, entries[i].begin);
    (entries[i].parent == kNone ? open : children[entries[i].parent]).push_back(i);
  }
  const auto latest_first = [&](std::vector<std::size_t>& some) {
    std::stable_sort(some.begin(), some.end(), [&](std::size_t a, std::size_t b) {
      return entries[a].begin > entries[b].begin;
    });
  };
  latest_first(open);
  std::vector<TraceLine> lines;
  std::vector<std::uint32_t> line_of(entries.size());  // 1 + position
  while (!open.empty()) {
    const auto at = open.back();
    open.pop_back();
    const auto& entry = entries[at];
    lines.push_back({.kind = entry.is_request ? "request" : "span",
                     .index = entry.index,
                     .parent = entry.parent == kNone ? 0 : line_of[entry.parent],
                     .placed_by = entry.parent == kNone ? ""
                                  : entry.by_time       ? "time"
                                                        : "spanId",
                     .begin = entry.begin - first,
                     .duration = entry.duration});
    line_of[at] = static_cast<std::uint32_t>(lines.size());
    latest_first(children[at]);
    open.insert(open.end(), children[at].begin(), children[at].end());
  }
  return lines;
}

const Shape& shape_of(const TraceLine*) {
  using L = TraceLine;
  static const auto shape = describe<L>(
      "FleetTraceLine", "a request or a span in the tree of a trace",
      {member<&L::kind>("kind", "request or span"),
       member<&L::index>("index", "position in requests or otlpSpans"),
       member<&L::parent>("parent", "1 + position of a line before it; 0: none"),
       member_unless_empty<&L::placed_by>(
           "placedBy",
           "spanId: its parent was named; time: the shortest one that contains it in time"),
       member<&L::begin>("startMs", "time after the begin of the trace"),
       member<&L::duration>("durationMs", "duration")});
  return shape;
}

}  // namespace clrscope::fleet
