// Events, counters and losses as the tracepoints of libclrscope_lttng.so (lttng/module.h).
//
// An event of the runtime that has a tracepoint of its own goes there with typed fields, every
// other one to `event` with its fields as JSON: each to one only. What no session wants costs no
// decoding and is counted. Belongs to one thread.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "hub/sink.h"
#include "nettrace/payload.h"
#include "sinks/lttng/module.h"

namespace clrscope::sinks {

class LttngEvents {
 public:
  enum class Typed { kYes, kNo };  // kNo: every event as JSON

  LttngEvents(const clrscope_lttng_module& module, Typed typed);

  void send(const hub::Batch& batch);
  void send(const hub::CounterValue& value);
  void send_dropped(std::uint64_t events) { module_.dropped(events); }
  void send_change(const hub::SourceInfo& source, hub::SourceChange change);

  std::uint64_t sent() const { return sent_; }          // events and values
  std::uint64_t unwanted() const { return unwanted_; }  // likewise: no session asked for them

 private:
  // How events of a type go to their tracepoint.
  struct Route {
    const clrscope_lttng_kind* kind = nullptr;  // null: as JSON
    nettrace::Schema schema = nettrace::Schema::kUnknown;
    bool known = false;
    std::string name{};                  // for JSON
    std::vector<std::uint32_t> slots{};  // of the payload's fields; kNoSlot: not in the tracepoint
  };
  struct Reader {
    Reader(std::uint64_t of, std::uint32_t pointer_size) : source(of), plans(pointer_size) {}
    std::uint64_t source;
    nettrace::PayloadPlans plans;
    std::vector<Route> routes{};  // by type index
  };

  Route& route_of(Reader& reader, const EventType& type, const nettrace::PayloadPlan& plan);
  const clrscope_lttng_common& common_of(const hub::Block& block, std::uint32_t row);
  void send_typed(const Route& route, const nettrace::PayloadPlan& plan, Bytes payload,
                  const clrscope_lttng_common& common);
  void send_json(const Route& route, const EventType& type, const nettrace::PayloadPlan& plan,
                 Bytes payload, const clrscope_lttng_common& common);

  const clrscope_lttng_module& module_;
  Typed typed_;
  std::map<std::pair<std::string_view, std::uint32_t>, const clrscope_lttng_kind*> kinds_;
  std::map<std::uint64_t, Reader> readers_;
  std::uint64_t sent_ = 0;
  std::uint64_t unwanted_ = 0;
  // What a tracepoint is given points into these.
  clrscope_lttng_common common_{};
  std::string activity_;
  std::vector<std::uint64_t> stack_;
  std::vector<clrscope_lttng_value> values_;
  std::vector<std::pair<std::uint32_t, std::size_t>> texts_;  // slot, place in scratch_
  std::string scratch_;
};

}  // namespace clrscope::sinks
