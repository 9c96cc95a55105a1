// The source "exceptions": every throw with its type and stack, and when it was caught.
//
// Called by the runtime on the thread that throws. A throw is always counted; its record may be
// dropped, and its stack is left out while the callbacks take too much time.
#pragma once

#include "agent/own_events.h"
#include "agent/recorder.h"

namespace clrscope::agent {

void on_exception_thrown(ComObject* runtime, Recorder& recorder, Id object);
void on_exception_caught(ComObject* runtime, Recorder& recorder, const OwnEvents& events,
                         Id function);

}  // namespace clrscope::agent
