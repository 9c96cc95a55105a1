// A .NET process as a source of the hub: EventPipe sessions, each read on a thread of its own.
#pragma once

#include <memory>

#include "hub/source.h"
#include "ipc/endpoint.h"

namespace clrscope::collect {

// The endpoint is shared with the sessions, which may outlive the source.
std::shared_ptr<hub::Source> make_live_source(hub::SourceInfo info,
                                              std::shared_ptr<ipc::Endpoint> runtime);

}  // namespace clrscope::collect
