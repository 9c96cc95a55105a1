#include "collect/eventpipe/hit_addresses.h"

namespace clrscope::collect {

void HitAddresses::add(const nettrace::Batch& batch, const nettrace::Reader& reader) {
  for (const auto& event : batch.events) {
    if (event.stack == StackId::kNone || known_.size() >= kMost) continue;
    if (!stacks_.insert(event.stack).second) continue;
    const auto stack = reader.stack(event.stack);
    for (std::size_t i = 0; i < stack.size(); ++i) {
      // A caller's address is where it goes on, which may be behind its last instruction.
      const auto address = stack[i] - (i > 0 ? 1 : 0);
      if (known_.insert(address).second) new_.push_back(address);
    }
  }
  if (batch.sequence_point) stacks_.clear();
}

}  // namespace clrscope::collect
