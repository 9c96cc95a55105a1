// An event as one line of JSON: who, what, when, where, and its fields by name.
//
//   {"time":"2026-11-15T02:45:12.123456Z","atMs":12.345678,"provider":"…","name":"GC/Start",
//    "id":1,"pid":4312,"osId":4320,"payload":{"Count":1,"Reason":"AllocSmall"}}
//
// atMs counts from the beginning of a session, where there is one. The fields of an event that
// nobody describes are its bytes: "payloadHex". For the events of one reader; belongs to one
// thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/shape.h"
#include "nettrace/payload.h"

namespace clrscope::nettrace {

// What the line holds. EventJson writes it member by member, since files have millions; a test
// compares.
struct EventLine {
  WallTime time{};
  std::optional<double> at_ms{};
  std::string provider{};
  std::string name{};
  std::uint32_t id = 0;
  std::int32_t pid = 0;
  std::uint64_t os_id = 0;
  std::optional<std::string> activity{};
  std::optional<std::string> related{};
  std::optional<std::map<std::string, RawJson>> payload{};
  std::optional<std::string> payload_hex{};
  std::optional<std::vector<std::string>> stack{};
};
const Shape& shape_of(const EventLine*);

class EventJson {
 public:
  // With its line end. `since_start` and `stack` (a JSON array) are left out when there is none.
  void append(std::string& out, const Event& event, const PayloadPlan& plan, WallTime wall,
              std::optional<std::chrono::nanoseconds> since_start = {},
              std::string_view stack = {});

 private:
  // Times of events that follow closely: the date is made once for each second.
  class TimeText {
   public:
    void append(std::string& out, WallTime time);

   private:
    std::optional<std::chrono::sys_seconds> second_;
    std::string prefix_;
  };
  struct Middle {
    std::string text{};
    Schema schema = Schema::kUnknown;
  };
  const std::string& middle(const EventType& type, const PayloadPlan& plan);

  std::vector<Middle> middles_;  // by type index
  TimeText times_;
};

// What an event is called: as TraceEvent prints it, or Event(7).
std::string event_name(const EventType& type, const PayloadPlan& plan);

}  // namespace clrscope::nettrace
