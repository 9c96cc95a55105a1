#include "doctor/history.h"

#include <algorithm>
#include <array>
#include <map>

namespace clrscope::doctor {
namespace {

constexpr std::size_t kMissedAtEnd = 2;

// The title without its numbers; of several alike each gets a place in the row.
std::string key_of(const Report& report, std::map<std::string, std::size_t>& seen) {
  std::string key{report.id};
  for (const char c : report.title)
    if ((c < '0' || c > '9') && c != '.') key += c;
  key += '#' + std::to_string(seen[key]++);
  return key;
}

}  // namespace

std::span<const std::string_view> names_of(FindingChange::Kind) {
  static constexpr std::array<std::string_view, 2> kNames{"began", "ended"};
  return kNames;
}

std::vector<FindingChange> FindingHistory::add(WallTime time, const std::vector<Report>& reports) {
  std::vector<FindingChange> changes;
  for (auto& one : open_)
    if (one.missed++ == 0) one.missed_since = time;
  std::map<std::string, std::size_t> seen;
  for (const auto& report : reports) {
    auto key = key_of(report, seen);
    const auto known = std::ranges::find(open_, key, &Open::key);
    if (known != open_.end()) {
      known->report = report;
      known->missed = 0;
      continue;
    }
    changes.push_back({.time = time, .began = time, .report = report});
    open_.push_back({.key = std::move(key), .began = time, .report = report});
  }
  std::erase_if(open_, [&](Open& one) {
    if (one.missed < kMissedAtEnd) return false;
    changes.push_back({.kind = FindingChange::Kind::kEnded,
                       .time = one.missed_since,
                       .began = one.began,
                       .report = std::move(one.report)});
    return true;
  });
  return changes;
}

std::vector<FindingChange> FindingHistory::end(WallTime time) {
  std::vector<FindingChange> changes;
  for (auto& one : open_)
    changes.push_back({.kind = FindingChange::Kind::kEnded,
                       .time = one.missed > 0 ? one.missed_since : time,
                       .began = one.began,
                       .report = std::move(one.report)});
  open_.clear();
  return changes;
}

}  // namespace clrscope::doctor
