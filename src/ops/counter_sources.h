// A process as a source of a hub, which also finds what in the process tells counters.
//
// EventSources are read from the process's memory, meters are asked of the runtime where it takes
// no pattern for them. Where memory may not be read, .NET's own EventSources stand in, and the
// reason is told.
#pragma once

#include <cstdint>
#include <memory>

#include "hub/source.h"
#include "ipc/endpoint.h"
#include "model/process.h"

namespace clrscope::ops {

std::shared_ptr<hub::Source> make_source(std::uint64_t id, const Process& process,
                                         std::shared_ptr<ipc::Endpoint> endpoint);

// What a session is to tell so that each instrument of every meter is told once, and none measured.
hub::ProviderWish published_instruments();

}  // namespace clrscope::ops
