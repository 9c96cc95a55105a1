// What a page costs a process that was copied, measured on this machine. Internal to the room.
//
// After a copy-on-write clone every page of the original is write-protected. The first write to one
// costs a fault: with a copy of the page while the clone lives (and a word to every CPU that the
// process runs on, which is the dear part in a virtual machine), without one when it has ended.
#pragma once

#include <chrono>

namespace clrscope::inspect {

struct PageCosts {
  std::chrono::nanoseconds copy{};         // while the clone lives
  std::chrono::nanoseconds first_write{};  // afterwards
};
// Takes a few milliseconds, a child, and one more CPU where there is one.
PageCosts measure_page_costs();

}  // namespace clrscope::inspect
