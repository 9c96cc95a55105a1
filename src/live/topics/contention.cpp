// Waits for locks.
#include <fmt/format.h>

#include <map>

#include "live/item_shapes.h"
#include "live/topic.h"

namespace clrscope::live {
namespace {

using nettrace::read_as;

class ContentionItems final : public RuntimeItems {
  struct Open {
    TraceTime begin;
    std::uint64_t lock = 0, owner = 0;
  };
  void on_event(const hub::Block& block, std::uint32_t, const Event& event, Known known,
                std::vector<std::string>& out) override {
    if (known == Known::kContentionStart) {
      const auto start = read_as<nettrace::ContentionStart>(event, block.pointer_size());
      if (start && open_.size() < kMostOpen)
        open_[event.thread] = {event.time, start->lock, start->owner_thread};
      return;
    }
    if (known != Known::kContentionStop) return;
    const auto at = open_.find(event.thread);
    if (at == open_.end()) return;
    ContentionItem item{.time = block.wall_of(event),
                        .thread = event.thread,
                        .waited = event.time - at->second.begin};
    if (at->second.owner != 0) item.owner = at->second.owner;
    if (at->second.lock != 0) item.lock = fmt::format("0x{:x}", at->second.lock);
    open_.erase(at);
    out.push_back(json_text(item));
  }

  std::map<ThreadId, Open> open_;
};

}  // namespace

extern const RuntimeTopic contention_topic{
    .name = "contention",
    .nothing = "No thread waited for a lock",
    .keywords = 0x4000 | kNameKeywords,
    .level = 5,  // names are verbose
    .stacks = true,
    .make = make_items_of<ContentionItems>,
};

}  // namespace clrscope::live
