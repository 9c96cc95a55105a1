// The stacks of a trace, each kept once. Stack ids of a trace mean nothing after a sequence point;
// these live as long as the table.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "model/event.h"
#include "model/intern.h"
#include "nettrace/reader.h"

namespace clrscope::analyze {

class Stacks {
 public:
  // The stack of an event of the batch in hand. The same addresses in two processes are two stacks.
  StackId intern(const nettrace::Reader& reader, const Event& event) {
    const auto id = static_cast<std::size_t>(event.stack);
    if (id < cache_.size() && cache_[id].process == event.process && cache_[id].ours != kUnknown)
      return cache_[id].ours;
    return intern_new(reader, event);
  }
  // Must be told of the end of each batch.
  void on_batch_end(const nettrace::Batch& batch) {
    if (batch.sequence_point) cache_.clear();
  }
  void on_trace_end() { cache_.clear(); }

  std::span<const std::uint64_t> addresses(StackId id) const {  // leaf first
    const auto all = table_.frames(id);
    return all.empty() ? all : all.first(all.size() - 1);
  }
  ProcessId process(StackId id) const {
    const auto all = table_.frames(id);
    return ProcessId{all.empty() ? 0 : static_cast<std::int32_t>(all.back())};
  }
  TraceTime first_seen(StackId id) const { return first_seen_[static_cast<std::size_t>(id)]; }
  std::size_t size() const { return table_.size(); }
  std::vector<std::uint64_t> all_addresses() const;  // of all stacks: sorted, each once

 private:
  static constexpr StackId kUnknown{0xffffffff};
  static constexpr std::size_t kMaxCached = 1 << 20;
  struct Cached {
    StackId ours = kUnknown;
    ProcessId process{};
  };
  StackId intern_new(const nettrace::Reader& reader, const Event& event);

  StackTable table_;  // a stack's last value is its process
  std::vector<TraceTime> first_seen_{TraceTime{}};
  std::vector<Cached> cache_;  // by the trace's own id, up to the next sequence point
  std::vector<std::uint64_t> scratch_;
};

}  // namespace clrscope::analyze
