#include "live/topic.h"

#include <utility>

namespace clrscope::live {

#define TOPIC(name, id) extern const RuntimeTopic name##_topic;
#include "live/topics.inc"
#undef TOPIC

std::span<const RuntimeTopic* const> runtime_topics() {
  static constexpr const RuntimeTopic* kAll[] = {
#define TOPIC(name, id) &name##_topic,
#include "live/topics.inc"
#undef TOPIC
  };
  return kAll;
}

const RuntimeTopic* find_topic(Topic topic) {
  switch (topic) {
#define TOPIC(name, id) \
  case Topic::id:       \
    return &name##_topic;
#include "live/topics.inc"
#undef TOPIC
    default:
      return nullptr;
  }
}

std::optional<Topic> find_topic(std::string_view name) {
  for (const auto topic : {
#define TOPIC(name, id) Topic::id,
#include "live/topics.inc"
#undef TOPIC
       })
    if (find_topic(topic)->name == name) return topic;
  return std::nullopt;
}

std::string_view name_of(Topic topic) {
  if (const auto* runtime = find_topic(topic)) return runtime->name;
  return topic == Topic::kCounters ? "counters" : topic == Topic::kLogs ? "logs" : "events";
}

void RuntimeItems::on_batch(const hub::Batch& batch, std::vector<std::string>& out) {
  const auto& block = *batch.block;
  if (std::exchange(reader_, block.reader()) != block.reader()) known_.forget();
  for (const auto row : batch.rows) {
    const auto& event = block.events()[row];
    if (const auto known = known_.of(*event.type); known != Known::kNone)
      on_event(block, row, event, known, out);
  }
}

}  // namespace clrscope::live
