// Changes of the thread pool.
#include "analyze/words.h"
#include "live/item_shapes.h"
#include "live/topic.h"

namespace clrscope::live {
namespace {

using analyze::value_name;
using nettrace::read_as;

class PoolItems final : public RuntimeItems {
  void on_event(const hub::Block& block, std::uint32_t, const Event& event, Known known,
                std::vector<std::string>& out) override {
    ThreadPoolItem item{.time = block.wall_of(event)};
    switch (known) {
      case Known::kWorkerStart:
      case Known::kWorkerStop:
      case Known::kWorkerWait: {
        const auto worker = read_as<nettrace::ThreadPoolWorker>(event, block.pointer_size());
        if (!worker || std::exchange(workers_, worker->active) == worker->active) return;
        item.workers = worker->active;
        break;
      }
      case Known::kWorkerAdjustment: {
        const auto change = read_as<nettrace::WorkerAdjustment>(event, block.pointer_size());
        if (!change) return;
        item.threads = change->threads;
        item.reason = value_name("ThreadAdjustmentReason", change->reason);
        item.throughput = change->average_throughput;
        break;
      }
      default:
        return;
    }
    out.push_back(json_text(item));
  }

  std::uint32_t workers_ = ~0U;
};

}  // namespace

extern const RuntimeTopic threadpool_topic{
    .name = "threadpool",
    .nothing = "The thread pool did not change",
    .keywords = 0x10000,
    .make = make_items_of<PoolItems>,
};

}  // namespace clrscope::live
