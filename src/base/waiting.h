// Messages that wait for their peer, oldest first: in memory, or in a spool on disk (spool.h).
//
// One that was taken stays until it is forgotten, and is taken again after give_back(). Belongs to
// one thread at a time: the outbox locks.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace clrscope {

struct Message {
  std::string text{};
  std::uint32_t items = 0;
};

class Waiting {
 public:
  virtual ~Waiting() = default;
  // A failure: there is no room for it, or the disk refused.
  virtual Result<> push(std::string message, std::uint32_t items) = 0;
  // The oldest that was not taken yet.
  virtual std::optional<Message> take() = 0;
  virtual void give_back() = 0;
  // The oldest `count` of those taken; how many items they held.
  virtual std::uint64_t forget(std::size_t count) = 0;
  virtual std::size_t taken() const = 0;
  // Items of the oldest `count` of those taken, and the bytes of all that are not forgotten but
  // these.
  virtual std::uint64_t items(std::size_t count) const = 0;
  virtual std::uint64_t bytes_after(std::size_t count) const = 0;
  std::uint64_t bytes() const { return bytes_after(0); }
  // Places where what was stored could not be read again.
  virtual std::uint64_t damaged() const { return 0; }
  // Items that nobody will find again when this one ends.
  virtual std::uint64_t perishable() const { return 0; }
};

class WaitingInMemory final : public Waiting {
 public:
  explicit WaitingInMemory(std::uint64_t limit) : limit_(limit) {}

  Result<> push(std::string message, std::uint32_t items) override;
  std::optional<Message> take() override;
  void give_back() override { taken_ = 0; }
  std::uint64_t forget(std::size_t count) override;
  std::size_t taken() const override { return taken_; }
  std::uint64_t items(std::size_t count) const override;
  std::uint64_t bytes_after(std::size_t count) const override;
  std::uint64_t perishable() const override { return items(messages_.size()); }

 private:
  std::uint64_t limit_;
  std::uint64_t bytes_ = 0;
  std::size_t taken_ = 0;  // the first of them
  std::deque<Message> messages_;
};

}  // namespace clrscope
