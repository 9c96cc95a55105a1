// Puts the agent's records about requests together: requests with their spans.
//
// Pure: records, time and names come as arguments. Records are not trusted; what is held is
// bounded, and what is dropped is counted. Records of one request come from several rings, in any
// order: a request is handed over some time after its end. Belongs to one thread.
//
//   arena/rings → take(bytes, size) …; end_round(now) after all rings were drained; hand_over()
#pragma once

#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "collect/agent/tick_clock.h"
#include "model/request.h"
#include "wire/requests.h"

namespace clrscope::collect {

struct AssemblerLimits {
  std::size_t requests = 4096;               // sampled ones that are held at a time
  std::size_t records_per_request = 20'000;  // spans, steps, and the like
  std::size_t records = 200'000;             // of all requests that are held
  std::size_t not_sampled = 200'000;         // ends until the next hand_over()
  std::size_t methods = 1 << 16;
  std::chrono::nanoseconds grace = std::chrono::milliseconds{200};  // after the end of a request
  // After it, for work that goes on behind it, while there is room.
  std::chrono::nanoseconds work_behind = std::chrono::seconds{10};
};

struct AssemblerLosses {
  std::uint64_t damaged = 0;   // records that could not be read
  std::uint64_t spans = 0;     // records beyond a limit
  std::uint64_t requests = 0;  // sampled ones that were given up to make room
  std::uint64_t late = 0;      // records of requests that were handed over before
  std::uint64_t orphans = 0;   // spans whose parent is missing
};

class RequestAssembler {
 public:
  // The name of a method by the number of its counter; empty: unknown.
  using NameOf = std::function<std::string(std::uint32_t)>;

  explicit RequestAssembler(NameOf name_of, AssemblerLimits limits = {})
      : name_of_(std::move(name_of)), limits_(limits) {}

  void take(const void* bytes, std::uint32_t size);
  // All rings were drained once more.
  void end_round(TraceTime now);
  // Nothing more comes: every request that has ended can be handed over.
  void finish() { finished_ = true; }

  // After finish() and hand_over(), when the agent records by another order: what is open is given
  // up. A method keeps the number of its counter, and so its name: none is written twice.
  void restart();

  // The requests that have ended since the last call, and the names of all methods so far.
  RequestBatch hand_over(const TickClock& clock);

  const AssemblerLosses& losses() const { return losses_; }
  std::size_t in_flight() const { return open_.size(); }  // sampled ones that are held

 private:
  struct Times {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
    std::uint32_t thread = 0;
  };
  struct Span {
    std::uint64_t parent = 0;
    std::uint32_t method = 0;  // number of its counter
    std::uint32_t flags = 0;   // of all its steps
    bool ended = false;        // async: the last step was seen
    std::vector<Times> steps{};
    std::vector<std::uint64_t> queued{};  // async: when it became ready
  };
  struct End {
    wire::RequestEnd fixed{};
    std::string method{}, route{}, path{}, error{};
  };
  struct Open {
    std::uint64_t root = 0;
    std::optional<End> end{};
    std::uint64_t end_round = 0;  // when the end was seen
    TraceTime end_seen{};         // of that round
    std::uint64_t last_round = 0;
    std::uint64_t waiting = 0;  // async spans whose last step was not seen
    std::unordered_map<std::uint32_t, TraceTime> working{};  // threads, and when that was heard
    std::unordered_map<std::uint64_t, Span> spans{};
    std::vector<Times> flows{};
    std::uint64_t records = 0;
    std::uint32_t lost = 0;
  };
  class Build;  // makes one request of this

  // Room for one more record of this request; null: there is none, and it was counted.
  Open* room_for(std::uint32_t request);
  void give_up_oldest();
  bool is_due(const Open& open) const;
  void take_end(const wire::RequestEnd& record);
  void take_span(const wire::SpanRecord& record);
  void take_begin(const wire::RequestBegin& record);
  void take_flow(const wire::FlowRecord& record);
  void take_queued(const wire::QueuedRecord& record);
  std::uint32_t method_index(std::uint32_t counter);
  void remember(std::uint32_t request);

  NameOf name_of_;
  AssemblerLimits limits_;
  std::unordered_map<std::uint32_t, Open> open_;
  std::deque<std::uint32_t> ended_;  // sampled, in order of their ends
  std::vector<End> not_sampled_;
  std::unordered_set<std::uint32_t> past_;  // handed over lately
  std::deque<std::uint32_t> past_order_;
  std::unordered_map<std::uint32_t, std::uint32_t> methods_;  // by counter
  std::vector<std::string> names_;
  std::optional<std::uint32_t> unknown_;  // the name of methods without one
  std::uint64_t records_ = 0;
  std::uint64_t round_ = 0;
  TraceTime now_{};
  bool finished_ = false;
  AssemblerLosses losses_;
};

}  // namespace clrscope::collect
