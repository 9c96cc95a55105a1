// A .NET process as a source of the hub: EventPipe sessions, each read on a thread of its own.
#pragma once

#include <functional>
#include <memory>

#include "hub/source.h"
#include "ipc/endpoint.h"

namespace clrscope::collect {

// Who finds what in the process tells counters; it may open sessions of the source.
using FindCounters = std::function<hub::CounterSources(hub::Source&)>;

// The endpoint is shared with the sessions, which may outlive the source.
std::shared_ptr<hub::Source> make_live_source(hub::SourceInfo info,
                                              std::shared_ptr<ipc::Endpoint> runtime,
                                              FindCounters find = {});

}  // namespace clrscope::collect
