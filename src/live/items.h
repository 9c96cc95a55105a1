// The items of live streams: a collection, an exception, a lock wait, a compiled method, each as
// one JSON object.
//
// Made from the runtime's events as they arrive; what has a duration is published at its end.
// Belongs to the thread of its feed, except RecentExceptions.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "hub/block.h"
#include "hub/request.h"

namespace clrscope::live {

enum class Topic : std::uint8_t {
  kCounters,
  kLogs,
  kEvents,
#define TOPIC(name, id) id,  // live/topic.h
#include "live/topics.inc"
#undef TOPIC
};
std::string_view name_of(Topic topic);  // "gc"

// Exception messages may contain secrets: they are shown to callers that may see recordings.
enum class Messages : bool { kWithheld, kShown };
inline constexpr std::string_view kWithheldMessage = "(the scope trace shows messages)";

class ItemMaker {
 public:
  virtual ~ItemMaker() = default;
  virtual void on_batch(const hub::Batch& batch, std::vector<std::string>& out) = 0;
  virtual void on_tick(std::vector<std::string>& out) { (void)out; }
};

// One exception as it was thrown.
struct Thrown {
  std::uint64_t id = 0;  // from 1, in the order they came
  TraceTime time{};
  WallTime wall{};
  ThreadId thread{};
  std::string type{}, message{};
  std::uint32_t hresult = 0;
  std::string activity{};                  // its id; may be empty
  std::vector<std::uint64_t> addresses{};  // of its stack, leaf first
};

// The last of them. Any thread.
class RecentExceptions {
 public:
  static constexpr std::size_t kMost = 1000;
  static constexpr std::size_t kFrames = 128;

  std::uint64_t add(Thrown thrown);  // its id
  std::vector<Thrown> all() const;   // the oldest first
  std::uint64_t total() const;

 private:
  mutable std::mutex mutex_;
  std::deque<Thrown> thrown_;
  std::uint64_t total_ = 0;
};

// None for counters and logs, which have makers of their own.
std::unique_ptr<ItemMaker> make_items(Topic topic, RecentExceptions& exceptions, Messages messages);

}  // namespace clrscope::live
