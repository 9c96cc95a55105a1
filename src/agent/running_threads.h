// Whether other threads of this process run at this moment, as the kernel says.
#pragma once

namespace clrscope::agent {

// Running, waiting for a processor, or in an uninterruptible wait (a page fault). False also if
// /proc cannot be read.
bool other_threads_run();

}  // namespace clrscope::agent
