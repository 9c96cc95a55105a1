// Threads that start.
#include "live/item_shapes.h"
#include "live/topic.h"

namespace clrscope::live {
namespace {

class ThreadItems final : public RuntimeItems {
  void on_event(const hub::Block& block, std::uint32_t, const Event& event, Known known,
                std::vector<std::string>& out) override {
    if (known == Known::kThreadRunning)
      out.push_back(json_text(ThreadItem{.time = block.wall_of(event), .thread = event.thread}));
  }
};

}  // namespace

extern const RuntimeTopic thread_starts_topic{
    .name = "thread-starts",
    .nothing = "No thread started",
    .keywords = 0x10000 | kNameKeywords,
    .level = 5,  // names are verbose
    .stacks = true,
    .make = make_items_of<ThreadItems>,
};

}  // namespace clrscope::live
