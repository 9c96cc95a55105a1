// Garbage collections.
#include <deque>
#include <set>

#include "analyze/collections.h"
#include "analyze/words.h"
#include "live/item_shapes.h"
#include "live/topic.h"

namespace clrscope::live {
namespace {

using analyze::value_name;
using std::chrono::nanoseconds;

// A collection is published when it has ended and its pause is known: checked once a second, since
// events of several threads come out of order.
class GcItems final : public RuntimeItems {
 public:
  void on_tick(std::vector<std::string>& out) override {
    if (!std::exchange(new_, false)) return;
    analyze::Collections collections;
    for (const auto& one : events_) collections.on_event(one.event, one.known, 8);
    collections.end_of_trace(nettrace::Reader{});
    const auto now = TraceClock::now();
    for (const auto& gc : collections.all()) {
      if (!gc.duration || !gc.pause) continue;
      if (gc.number <= told_up_to_ || !told_.insert(gc.number).second) continue;
      out.push_back(text(gc));
    }
    while (told_.size() > 256) {
      told_up_to_ = std::max(told_up_to_, *told_.begin());
      told_.erase(told_.begin());
    }
    while (!events_.empty() &&
           (events_.front().event.time < now - std::chrono::seconds{30} || events_.size() > 20'000))
      events_.pop_front();
  }

 private:
  struct Kept {
    Event event;
    Known known;
    std::shared_ptr<hub::Block> owner;
  };

  void on_event(const hub::Block& block, std::uint32_t, const Event& event, Known known,
                std::vector<std::string>&) override {
    switch (known) {
      case Known::kGcStart:
      case Known::kGcEnd:
      case Known::kGcSuspendBegin:
      case Known::kGcRestartBegin:
      case Known::kGcRestartEnd:
      case Known::kGcHeapStats:
        break;
      default:
        return;
    }
    wall_offset_ = block.wall_of(event).time_since_epoch() - event.time.time_since_epoch();
    auto owner = hub::Block::like(block);
    owner->add(event, {});
    events_.push_back({owner->events().front(), known, owner});
    new_ = true;
  }

  std::string text(const analyze::Collection& gc) const {
    GcItem item{.time = WallTime{gc.start + wall_offset_},
                .number = gc.number,
                .generation = gc.generation,
                .reason = std::string{value_name("GCReason", gc.reason)},
                .type = std::string{value_name("GCType", gc.type)},
                .pause = *gc.pause,
                .longest_pause = gc.longest_pause,
                .duration = *gc.duration};
    if (gc.heap_after) item.heap_after = analyze::heap_sizes(*gc.heap_after);
    return json_text(item);
  }

  std::deque<Kept> events_;
  bool new_ = false;
  std::set<std::uint32_t> told_;
  std::uint32_t told_up_to_ = 0;
  nanoseconds wall_offset_{};
};

}  // namespace

extern const RuntimeTopic gc_topic{
    .name = "gc",
    .nothing = "No garbage collection",
    .keywords = 0x1,
    .make = make_items_of<GcItems>,
};

}  // namespace clrscope::live
