// A process as a source of a hub, which also finds the EventSources and meters that publish
// counters.
//
// EventSources are read from the process's memory; meters are requested from the runtime where it
// accepts no pattern for them. If the memory cannot be read, .NET's own EventSources are used, and
// the reason is reported.
#pragma once

#include <cstdint>
#include <memory>

#include "hub/source.h"
#include "ipc/endpoint.h"
#include "model/process.h"

namespace clrscope::ops {

struct Target;

std::shared_ptr<hub::Source> make_source(std::uint64_t id, const Process& process,
                                         std::shared_ptr<ipc::Endpoint> endpoint);
// Which is kept as long as the source.
std::shared_ptr<hub::Source> make_source(std::uint64_t id, const Process& process,
                                         std::shared_ptr<Target> target);

// The session that lists each instrument of every meter once, without measuring any.
hub::ProviderRequest published_instruments();

}  // namespace clrscope::ops
