// Events of our own as blocks between those of a runtime's version 4 trace.
//
// They may lie wherever a block of the trace has ended. Their types and their capture thread have
// numbers that no runtime uses, and their length is a multiple of 4, because the trace pads its
// blocks by their place. Format: docs/formats/nettrace.md
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "base/bytes.h"
#include "model/event.h"

namespace clrscope::nettrace {

class V4Blocks {
 public:
  // Its type, thread and payload are copied.
  void add(const Event& event);
  bool empty() const { return rows_.empty(); }

  // What was added, for this place in the trace. `ticks` must not decrease from call to call.
  std::vector<std::uint8_t> take(std::uint64_t offset, std::int64_t ticks);

  std::uint64_t events() const { return events_; }  // taken so far

 private:
  struct Row {
    std::uint32_t type;
    ThreadId thread;
    std::vector<std::uint8_t> payload;
  };
  std::uint32_t number_of(const EventType& type);

  using TypeKey = std::tuple<std::string, std::uint32_t, std::uint32_t>;  // provider, id, version
  std::map<TypeKey, std::uint32_t> numbers_;
  ByteWriter new_types_;  // metadata rows
  std::vector<Row> rows_;
  std::uint64_t events_ = 0;
};

}  // namespace clrscope::nettrace
