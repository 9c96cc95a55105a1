// Live topics made from the runtime's events: one file each in topics/, listed in topics.inc.
//
// GET /live streams the items of a topic; GET /views/NAME shows the report of the same name on the
// last minutes. docs/adding-a-report.md shows how to add one.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

#include "analyze/sites.h"
#include "live/items.h"
#include "nettrace/payload_events.h"

namespace clrscope::live {

struct RuntimeTopic {
  std::string_view name;     // of the topic, of its view and of the report in analyze
  std::string_view nothing;  // the view without data: "No garbage collection"
  std::uint64_t keywords;    // of the runtime's provider
  std::uint8_t level = 4;
  bool stacks = false;
  bool messages = false;  // its items have messages of the program, which may be withheld
  std::unique_ptr<ItemMaker> (*make)(RecentExceptions& exceptions, Messages messages);
};
const RuntimeTopic* find_topic(Topic topic);             // null: not made from the runtime's events
std::optional<Topic> find_topic(std::string_view name);  // likewise, by name
std::span<const RuntimeTopic* const> runtime_topics();

inline constexpr std::uint64_t kNameKeywords = 0x38;  // loader, JIT, precompiled: names of stacks

// Reads the runtime's events for a topic.
class RuntimeItems : public ItemMaker {
 public:
  void on_batch(const hub::Batch& batch, std::vector<std::string>& out) final;

 protected:
  using Known = nettrace::Known;
  static constexpr std::size_t kMostOpen = 10'000;  // things that have begun and not ended

  virtual void on_event(const hub::Block& block, std::uint32_t row, const Event& event, Known known,
                        std::vector<std::string>& out) = 0;

 private:
  std::uint64_t reader_ = 0;
  analyze::KnownEvents known_;
};

template <class Items>
std::unique_ptr<ItemMaker> make_items_of(RecentExceptions&, Messages) {
  return std::make_unique<Items>();
}

}  // namespace clrscope::live
