// Where in the code an event happened: what the reports on exceptions, locks and allocations share.
//
// Events are counted by stack while they are read; a stack gets its site when the trace is read to
// its end, since the names come last.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "analyze/stacks.h"
#include "analyze/symbolizer.h"
#include "nettrace/payload_events.h"
#include "symbols/line_at.h"

namespace clrscope::analyze {

// known_event() asked once for each type of one reader.
class KnownEvents {
 public:
  nettrace::Known of(const EventType& type) {
    if (type.index < asked_.size() && asked_[type.index]) return known_[type.index];
    return learn(type);
  }
  void forget() { known_.clear(), asked_.clear(); }

 private:
  nettrace::Known learn(const EventType& type);

  std::vector<nettrace::Known> known_;
  std::vector<bool> asked_;
};

class Sites {
 public:
  // `line_at`: asked for the line of each site that is the application's own code.
  explicit Sites(FrameTable& frames, LineAt line_at = {})
      : frames_(frames), symbols_(frames), line_at_(std::move(line_at)) {}

  StackId stack_of(const nettrace::Reader& reader, const Event& event) {
    return stacks_.intern(reader, event);
  }
  void on_other(const Event& event) { symbols_.on_event(event, providers_.of(*event.type)); }
  // Of another trace, whose event types are others. After all events of this one: methods that are
  // in none of its stacks are not kept.
  void on_name(const Event& event, Provider provider);
  void on_batch_end(const nettrace::Batch& batch) { stacks_.on_batch_end(batch); }

  // The first frame of the application; where there is none, the first that has a name.
  FrameId site(StackId stack);
  // The same, past the libraries that it uses to reach others: who wants something of a database
  // is not its driver.
  FrameId caller(StackId stack);
  // The first frame of the application; where there is none, the first of a library outside the
  // machinery of tasks, which is above every task.
  FrameId task_site(StackId stack);

 private:
  using Fits = bool (*)(const Frame& frame);
  FrameId first(StackId stack, std::initializer_list<Fits> requests);
  FrameId with_line(FrameId id, std::uint64_t address);

  FrameTable& frames_;
  Providers providers_;
  Stacks stacks_;
  Symbolizer symbols_;
  LineAt line_at_;
  bool names_others_ = false;
  std::vector<FrameId> scratch_;
};

// "Induced" for value 1 of "GCReason"; the number when it has no name.
std::string value_name(std::string_view enumeration, std::uint64_t value);

}  // namespace clrscope::analyze
