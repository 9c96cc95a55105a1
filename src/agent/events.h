// The sources "contention" and "allocations": events of the runtime, delivered in the process.
//
// The runtime calls us on the thread that writes the event, so the stack is the one of the event.
// A session is started and stopped on a thread that is thrown away afterwards, since the runtime
// may run managed code on it.
#pragma once

#include "agent/recorder.h"
#include "agent/survivors.h"

namespace clrscope::agent {

// The keywords of the runtime's provider for these sources, and the level.
struct EventConfig {
  std::uint64_t keywords = 0;
  std::uint32_t level = 0;
};
EventConfig event_config(std::uint32_t sources, std::uint16_t runtime_major);

// S_OK and the session; sessions are numbers of the runtime.
HResult start_events(ComObject* runtime, const EventConfig& config, std::uint64_t& session);
HResult stop_events(ComObject* runtime, std::uint64_t session);

struct DeliveredEvent {
  std::uint32_t id;
  std::uint32_t version;
  const std::uint8_t* payload;
  std::uint32_t size;
};
void on_event(ComObject* runtime, Recorder& recorder, Survivors& survivors, std::uint32_t sources,
              const DeliveredEvent& event);
// Which source the time of this event is counted for.
wire::Spender spender_of(const DeliveredEvent& event, std::uint32_t sources);

}  // namespace clrscope::agent
