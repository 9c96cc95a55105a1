#include "live/items.h"

#include <optional>

#include "live/topic.h"
#include "nettrace/event_json.h"

namespace clrscope::live {
namespace {

// The requested events, decoded.
class EventItems final : public ItemMaker {
 public:
  void on_batch(const hub::Batch& batch, std::vector<std::string>& out) override {
    const auto& block = *batch.block;
    if (!known_ || known_->reader != block.reader()) known_.emplace(block);
    for (const auto row : batch.rows) {
      auto event = block.events()[row];
      event.process = ProcessId{block.source().pid};
      std::string text;
      known_->json.append(text, event, known_->plans.of(event), block.wall_of(event));
      while (text.ends_with('\n')) text.pop_back();
      out.push_back(std::move(text));
    }
  }

 private:
  struct Known {
    explicit Known(const hub::Block& block) : reader(block.reader()), plans(block.pointer_size()) {}
    std::uint64_t reader;
    nettrace::PayloadPlans plans;
    nettrace::EventJson json{};
  };
  std::optional<Known> known_;
};

}  // namespace

std::uint64_t RecentExceptions::add(Thrown thrown) {
  const std::lock_guard lock{mutex_};
  thrown.id = ++total_;
  thrown_.push_back(std::move(thrown));
  if (thrown_.size() > kMost) thrown_.pop_front();
  return total_;
}

std::vector<Thrown> RecentExceptions::all() const {
  const std::lock_guard lock{mutex_};
  return {thrown_.begin(), thrown_.end()};
}

std::uint64_t RecentExceptions::total() const {
  const std::lock_guard lock{mutex_};
  return total_;
}

std::unique_ptr<ItemMaker> make_items(Topic topic, RecentExceptions& exceptions,
                                      Messages messages) {
  if (const auto* runtime = find_topic(topic)) return runtime->make(exceptions, messages);
  if (topic == Topic::kEvents) return std::make_unique<EventItems>();
  return nullptr;
}

}  // namespace clrscope::live
