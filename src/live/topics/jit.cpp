// Compiled methods.
#include <map>

#include "analyze/words.h"
#include "live/item_shapes.h"
#include "live/topic.h"
#include "symbols/method_name.h"

namespace clrscope::live {
namespace {

using analyze::value_name;
using nettrace::read_as;

class JitItems final : public RuntimeItems {
  void on_event(const hub::Block& block, std::uint32_t, const Event& event, Known known,
                std::vector<std::string>& out) override {
    if (known == Known::kMethodJittingStarted) {
      const auto start = read_as<nettrace::MethodJittingStarted>(event, block.pointer_size());
      if (start && open_.size() < kMostOpen)
        open_[{event.thread, start->method}] = {event.time, start->il_size};
      return;
    }
    if (known != Known::kMethodLoad) return;
    const auto method = read_as<nettrace::MethodEvent>(event, block.pointer_size());
    if (!method || !method->jitted()) return;
    JitItem item{.time = block.wall_of(event),
                 .method = method_name(utf8_of(method->name_space), utf8_of(method->name),
                                       utf8_of(method->signature)),
                 .tier = std::string{value_name("OptimizationTier", method->tier())},
                 .native_bytes = method->size};
    if (const auto at = open_.find({event.thread, method->method}); at != open_.end()) {
      item.il_bytes = at->second.second;
      item.jit = event.time - at->second.first;
      open_.erase(at);
    }
    out.push_back(json_text(item));
  }

  std::map<std::pair<ThreadId, std::uint64_t>, std::pair<TraceTime, std::uint32_t>> open_;
};

}  // namespace

extern const RuntimeTopic jit_topic{
    .name = "jit",
    .nothing = "No method was compiled",
    .keywords = 0x10,
    .level = 5,  // the start of a compilation is verbose
    .make = make_items_of<JitItems>,
};

}  // namespace clrscope::live
