// Takes requests out of a batch, with their spans, steps and samples.
#pragma once

#include <vector>

#include "store/batch.h"

namespace clrscope::store {

// keep[i]: whether request i stays. As many as the batch has requests.
void keep_requests(Batch& batch, const std::vector<bool>& keep);

}  // namespace clrscope::store
