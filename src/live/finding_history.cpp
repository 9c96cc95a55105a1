#include "live/finding_history.h"

#include <algorithm>
#include <ranges>

namespace clrscope::live {
namespace {

constexpr std::size_t kMostPast = 50;

}  // namespace

const FindingSpan& FindingHistory::close(std::size_t at, WallTime now) {
  auto span = std::move(now_[at]);
  span.ended = now;
  now_.erase(now_.begin() + static_cast<std::ptrdiff_t>(at));
  past_.push_back(std::move(span));
  if (past_.size() > kMostPast) past_.erase(past_.begin());
  return past_.back();
}

std::vector<FindingSpan> FindingHistory::end(WallTime now) {
  std::vector<FindingSpan> ended;
  while (!now_.empty()) ended.push_back(close(0, now));
  return ended;
}

std::vector<FindingSpan> FindingHistory::add(const ops::ExaminationAnswer& seen) {
  std::vector<FindingSpan> changed;
  for (const auto& one : seen.examined) {
    const auto id = one.id;  // of the registry: it lives as long as the program
    if (one.outcome == ops::Outcome::kNotRun) continue;  // nothing is known of it
    const auto known = std::ranges::find(now_, id, &FindingSpan::id);
    const auto without =
        std::ranges::find(without_, id, [](const auto& each) { return each.first; });
    if (one.outcome == ops::Outcome::kNothing) {
      if (known != now_.end())
        changed.push_back(close(static_cast<std::size_t>(known - now_.begin()), seen.time));
      if (without == without_.end())
        without_.emplace_back(id, seen.time);
      else
        without->second = seen.time;
      continue;
    }
    const auto found = std::ranges::find(seen.findings, id, &ops::FoundAnswer::id);
    if (found == seen.findings.end()) continue;
    if (known == now_.end()) {
      FindingSpan span{.id = id, .title = found->title, .severity = found->severity};
      if (without != without_.end()) span.not_before = without->second;
      span.began = seen.time;
      now_.push_back(std::move(span));
      changed.push_back(now_.back());
    } else {
      known->title = found->title;
      known->severity = found->severity;
    }
  }
  return changed;
}

std::vector<FindingSpan> FindingHistory::spans() const {
  auto all = now_;
  std::ranges::copy(past_ | std::views::reverse, std::back_inserter(all));
  return all;
}

const Shape& shape_of(const FindingSpan*) {
  using S = FindingSpan;
  static const auto shape = describe<S>(
      "FindingSpan", "Since when a process has a finding, or when it had it",
      {member<&S::id>("id", "id of the finding"),
       member<&S::title>("title", "what was found, as the last check put it"),
       member<&S::severity>("severity", "how bad it is"),
       member<&S::not_before>("notBefore", "last check before that did not find it; absent: none"),
       member<&S::began>("began", "first check that found it"),
       member<&S::ended>("ended",
                         "first check that did not find it any more; absent: it goes on")});
  return shape;
}

}  // namespace clrscope::live
