// Decides when it is safe to open a session in a program that is starting.
//
// A starting program creates its first EventSources; enabling one at the same moment can lock it up
// forever (docs/sessions.md).
#pragma once

#include <sys/types.h>

#include "base/proc.h"

namespace clrscope::ops {

// Two seconds old, and its main thread has come to rest or had a second of processor time: beside
// many others a start takes longer. After half a minute all have.
bool has_settled(const ProcStatus& process);
// Returns at once when it has, or when there is no such process.
void wait_until_settled(pid_t pid);

}  // namespace clrscope::ops
