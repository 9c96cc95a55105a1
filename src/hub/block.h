// Events on their way from one reader to many listeners: copied once, shared by all.
//
// A Block owns what its events point to, and keeps the source alive whose types they have. It is
// filled by the thread that reads and never changed after it was handed over.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <memory_resource>
#include <string>
#include <vector>

#include "model/event.h"

namespace clrscope::hub {

// Where events come from: one process, one run of it.
struct SourceInfo {
  std::uint64_t id = 0;  // never used again
  pid_t pid = 0;
  std::string process{};  // its name
  std::string runtime{};  // "10.0.12"

  std::uint32_t runtime_major() const;
};

class Block {
 public:
  // `owner` keeps the event types alive; `reader` tells those of one reader from those of others;
  // `wall_offset` makes wall time of the events' time.
  Block(std::shared_ptr<const SourceInfo> source, std::shared_ptr<const void> owner,
        std::uint64_t reader, std::chrono::nanoseconds wall_offset, std::uint32_t pointer_size)
      : source_(std::move(source)),
        owner_(std::move(owner)),
        reader_(reader),
        wall_offset_(wall_offset),
        pointer_size_(pointer_size) {}

  // An empty one for more events of the same reader: for who keeps a few rows of many blocks.
  static std::shared_ptr<Block> like(const Block& other);

  // Its place among events().
  std::uint32_t add(const Event& event, StackView stack);

  const SourceInfo& source() const { return *source_; }
  std::uint64_t reader() const { return reader_; }
  const std::vector<Event>& events() const { return events_; }
  StackView stack(std::uint32_t row) const {
    return {row < stacks_.size() ? stacks_[row] : Bytes{}, pointer_size_};
  }
  WallTime wall_of(const Event& event) const {
    return WallTime{event.time.time_since_epoch() + wall_offset_};
  }
  std::uint32_t pointer_size() const { return pointer_size_; }
  // About what it takes in memory.
  std::size_t bytes() const {
    return sizeof *this + events_.capacity() * sizeof(Event) + stacks_.capacity() * sizeof(Bytes) +
           kept_;
  }

 private:
  Bytes keep(Bytes bytes);

  std::shared_ptr<const SourceInfo> source_;
  std::shared_ptr<const void> owner_;
  std::uint64_t reader_;
  std::chrono::nanoseconds wall_offset_;
  std::uint32_t pointer_size_;
  std::vector<Event> events_;
  std::vector<Bytes> stacks_;                       // by event; ends at the last that has one
  std::pmr::monotonic_buffer_resource arena_{512};  // what payloads, guids and stacks point into
  std::size_t kept_ = 0;
};

// A listener's share of a block.
struct Batch {
  std::shared_ptr<const Block> block;
  std::vector<std::uint32_t> rows;
};

}  // namespace clrscope::hub
