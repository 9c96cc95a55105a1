#include "base/waiting.h"

#include "base/text.h"

namespace clrscope {

Result<> WaitingInMemory::push(std::string message, std::uint32_t items) {
  if (bytes_ + message.size() > limit_)
    return fail(Errc::kSystem, "the buffer in memory is full: {} are waiting", format_bytes(bytes_))
        .hint("use --spool FOLDER to buffer more on disk");
  bytes_ += message.size();
  messages_.push_back({std::move(message), items});
  return {};
}

std::optional<Message> WaitingInMemory::take() {
  if (taken_ == messages_.size()) return {};
  return messages_[taken_++];
}

std::uint64_t WaitingInMemory::forget(std::size_t count) {
  std::uint64_t items = 0;
  for (; count > 0 && taken_ > 0; --count, --taken_) {
    items += messages_.front().items;
    bytes_ -= messages_.front().text.size();
    messages_.pop_front();
  }
  return items;
}

std::uint64_t WaitingInMemory::items(std::size_t count) const {
  std::uint64_t items = 0;
  for (std::size_t i = 0; i < count; ++i) items += messages_[i].items;
  return items;
}

std::uint64_t WaitingInMemory::bytes_after(std::size_t count) const {
  auto bytes = bytes_;
  for (std::size_t i = 0; i < count; ++i) bytes -= messages_[i].text.size();
  return bytes;
}

}  // namespace clrscope
