#include "inspect/answer.h"
#include "ops/stacks.h"

namespace clrscope::ops {

std::string stacks_json(const inspect::Snapshot& seen) { return json_line(answer_of(seen)); }

}  // namespace clrscope::ops
