// Names of the methods that stacks lead into, chosen from a runtime's rundown or loads, so that a
// recording has them before its end: those that nobody has seen would make it large.
//
// Belongs to one thread. Feed it all events in one go, then take the modules.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <vector>

#include "model/event.h"

namespace clrscope::collect {

// As of a rundown's start, which does not claim to know all: the one at the end does.
struct NameEvent {
  EventType type;
  ThreadId thread{};
  TraceTime time{};
  std::vector<std::uint8_t> payload{};

  Event event() const;  // a view of this
};

class WantedMethods {
 public:
  // Addresses in methods that were named already are left out.
  void want(std::span<const std::uint64_t> addresses);
  void forget_wanted() { wanted_.clear(); }
  bool any() const { return !wanted_.empty(); }

  // Adds to `names` what names a wanted method, and remembers modules.
  void look_at(const Event& event, std::vector<NameEvent>& names);
  // The modules of the methods that were named, each once.
  void add_modules(std::vector<NameEvent>& names);

 private:
  void look_at_method(const Event& event, std::vector<NameEvent>& names);
  void look_at_module(const Event& event);

  std::set<std::uint64_t> wanted_;
  std::map<std::uint64_t, std::uint64_t> named_;  // start and end
  std::map<std::uint64_t, NameEvent> modules_;    // that are not written yet
  std::set<std::uint64_t> modules_needed_;
  std::set<std::uint64_t> modules_written_;
};

}  // namespace clrscope::collect
