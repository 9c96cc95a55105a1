// Writes events as a CTF 1.8 trace: one stream of packets, and the metadata that describes it.
//
// For babeltrace2, Trace Compass and whatever else reads CTF. Does no I/O: the bytes of the stream
// are handed over packet by packet; metadata() only grows, so that a live trace may append to its
// file. Events are to come in order of time; one that comes late is stamped with the time of the
// one before it, and counted. Belongs to one thread. Format: docs/formats/ctf.md
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "model/event.h"
#include "nettrace/payload.h"

namespace clrscope::ctf {

using WriteBytes = std::function<Result<>(Bytes)>;

struct TraceFacts {
  std::chrono::nanoseconds clock_offset{};                         // wall time less TraceTime
  std::vector<std::pair<std::string, std::string>> environment{};  // what it is a trace of
};

class Writer {
 public:
  Writer(const TraceFacts& facts, WriteBytes write);

  // `stack` may be empty.
  Result<> write(std::uint32_t event_class, const Event& event, const nettrace::PayloadPlan& plan,
                 StackView stack);
  // The class of such events; the same for all sources that describe them alike.
  std::uint32_t class_of(const EventType& type, const nettrace::PayloadPlan& plan);

  // What was lost before the trace came to us, in all; told in the packets from now on.
  void set_lost(std::uint64_t lost) { lost_ = lost; }
  Result<> flush();  // the packet begun so far; for the end, and for readers of a live trace

  const std::string& metadata() const { return metadata_; }
  std::uint64_t events() const { return events_; }
  std::uint64_t late() const { return late_; }

 private:
  template <class T>
  void put(T value);

  WriteBytes write_;
  std::array<std::uint8_t, 16> uuid_{};
  std::string metadata_;
  std::unordered_map<std::string, std::uint32_t> classes_;  // by what describes them
  std::vector<std::uint8_t> packet_;
  std::uint64_t packet_start_ = 0;
  std::uint64_t last_ = 0;
  std::uint64_t lost_ = 0;
  std::uint64_t events_ = 0;
  std::uint64_t late_ = 0;
};

// The classes of one reader's event types, looked up once each.
class Classes {
 public:
  explicit Classes(Writer& writer) : writer_(writer) {}
  std::uint32_t of(const EventType& type, const nettrace::PayloadPlan& plan);

 private:
  struct Known {
    std::uint32_t id = 0;
    nettrace::Schema schema = nettrace::Schema::kUnknown;
    bool known = false;
  };
  Writer& writer_;
  std::vector<Known> known_;  // by type index
};

}  // namespace clrscope::ctf
