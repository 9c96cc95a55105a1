#include "ops/worker.h"

#include "inspect/dac/worker.h"

namespace clrscope::ops {

std::optional<int> worker_main(int argc, char** argv) {
  return inspect::dac_worker_main(argc, argv);
}

}  // namespace clrscope::ops
