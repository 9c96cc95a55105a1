// Threads that were born while events were being opened may have both an event that they inherited
// and one that we opened for them. Both write the same samples: this drops one of them.
//
// Inherited events bear the id of the event they came from, so the first record with a foreign id
// tells. Until then the doubled thread's own records are kept: at most one sample per CPU is
// counted twice.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <tuple>

#include "collect/perf/record.h"

namespace clrscope::collect::perf {

class Doubles {
 public:
  struct Verdict {
    bool keep = true;
    std::optional<std::size_t> superfluous{};  // an event of ours that may be switched off
  };

  // We opened `id` (number `opened` of ours) for a thread that may already have inherited one.
  void suspect(EventIndex event, ThreadId thread, std::uint32_t cpu, EventId id,
               std::size_t opened) {
    suspects_[{event, thread, cpu}] = {id, opened, false};
  }

  Verdict judge(const Origin& origin) {
    if (suspects_.empty()) return {};
    const auto found = suspects_.find({origin.event, origin.thread, origin.cpu});
    if (found == suspects_.end()) return {};
    auto& suspect = found->second;
    if (origin.id == suspect.id) return {.keep = !suspect.inherited};
    if (std::exchange(suspect.inherited, true)) return {};
    return {.superfluous = suspect.opened};
  }

  std::size_t suspects() const { return suspects_.size(); }

 private:
  struct Suspect {
    EventId id;
    std::size_t opened;
    bool inherited;
  };
  std::map<std::tuple<EventIndex, ThreadId, std::uint32_t>, Suspect> suspects_;
};

}  // namespace clrscope::collect::perf
