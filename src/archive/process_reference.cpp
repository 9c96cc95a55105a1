#include "archive/process_reference.h"

namespace clrscope::archive {

const Shape& shape_of(const ProcessReference*) {
  using P = ProcessReference;
  static const auto shape = describe<P>(
      "ProcessReference", "A process, as it was when it was recorded or examined",
      {member<&P::pid>("pid", "process id; 0: the whole machine, or unknown"),
       member<&P::uid>("uid", "GUID of its runtime"), member<&P::name>("name", "process name"),
       member<&P::runtime>("runtime", ".NET version")});
  return shape;
}

ProcessReference reference_to(const Process& process) {
  return {.pid = process.pid, .uid = process.uid, .name = process.name, .runtime = process.runtime};
}

}  // namespace clrscope::archive
