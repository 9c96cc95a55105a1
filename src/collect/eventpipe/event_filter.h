// Event ids of a provider: asked of the runtime where it can filter (.NET 10), else events with
// other ids are left out here, after the runtime has written them.
#pragma once

#include <chrono>
#include <cstdint>
#include <vector>

#include "base/result.h"
#include "ipc/commands.h"
#include "model/event.h"

namespace clrscope::collect {

// Belongs to one thread and one reader.
class EventFilter {
 public:
  EventFilter() = default;  // leaves nothing out
  explicit EventFilter(const std::vector<ipc::Provider>& providers);

  bool empty() const { return filtered_.empty(); }
  bool keeps(const EventType& type);

 private:
  enum class Known : std::uint8_t { kNot, kKept, kLeftOut };
  std::vector<ipc::Provider> filtered_;  // those with event ids
  std::vector<Known> known_;             // by the type's index
};

struct FilteredSession {
  ipc::Session session;
  EventFilter filter;  // what the runtime does not do itself
};

Result<FilteredSession> start_filtered(ipc::Endpoint& runtime, ipc::SessionConfig config,
                                       std::chrono::nanoseconds patience = ipc::kDefaultPatience);

}  // namespace clrscope::collect
