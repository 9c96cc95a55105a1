// Thrown exceptions.
#include <fmt/format.h>

#include "live/item_shapes.h"
#include "live/topic.h"

namespace clrscope::live {
namespace {

using nettrace::read_as;

class ExceptionItems final : public RuntimeItems {
 public:
  ExceptionItems(RecentExceptions& recent, Messages messages)
      : recent_(recent), messages_(messages) {}

 private:
  void on_event(const hub::Block& block, std::uint32_t row, const Event& event, Known known,
                std::vector<std::string>& out) override {
    if (known != Known::kException) return;
    const auto thrown = read_as<nettrace::ExceptionThrown>(event, block.pointer_size());
    if (!thrown) return;
    Thrown one{.time = event.time,
               .wall = block.wall_of(event),
               .thread = event.thread,
               .type = utf8_of(thrown->type),
               .message = messages_ == Messages::kShown ? utf8_of(thrown->message)
                                                        : std::string{kWithheldMessage},
               .hresult = thrown->hresult};
    if (event.activity != nullptr && !event.activity->empty())
      one.activity = to_string(*event.activity);
    block.stack(row).copy_to(one.addresses);
    if (one.addresses.size() > RecentExceptions::kFrames)
      one.addresses.resize(RecentExceptions::kFrames);
    ExceptionItem item{.time = one.wall,
                       .type = one.type,
                       .message = one.message,
                       .hresult = fmt::format("0x{:08X}", one.hresult),
                       .thread = one.thread};
    item.number = recent_.add(std::move(one));
    out.push_back(json_text(item));
  }

  RecentExceptions& recent_;
  Messages messages_;
};

}  // namespace

extern const RuntimeTopic exceptions_topic{
    .name = "exceptions",
    .nothing = "No exception was thrown",
    .keywords = 0x8000 | kNameKeywords,
    .level = 5,  // names are verbose
    .stacks = true,
    .messages = true,
    .make = [](RecentExceptions& recent, Messages messages) -> std::unique_ptr<ItemMaker> {
      return std::make_unique<ExceptionItems>(recent, messages);
    },
};

}  // namespace clrscope::live
