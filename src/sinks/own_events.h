// Counters and losses as events, for sinks that store only events.
//
// A counter's value is Clrscope.Counters/Value, a process that came is Universal.System's
// ExistingProcess, as in recordings of the machine. Fields: docs/forwarding.md
#pragma once

#include <span>

#include "hub/block.h"
#include "hub/counter.h"

namespace clrscope::sinks {

// The reader that blocks of own events have; the hub's begin at 1.
inline constexpr std::uint64_t kOwnReader = 0;
// Likewise of events that name the methods of stacks (ops/stack_names.h), of all processes.
inline constexpr std::uint64_t kNamesReader = ~std::uint64_t{0};

// `wall_offset`: wall time less TraceTime.
hub::Batch events_of(std::span<const hub::CounterValue> values,
                     std::chrono::nanoseconds wall_offset);
hub::Batch event_of(const hub::SourceInfo& source, TraceTime time,
                    std::chrono::nanoseconds wall_offset);

// The process as the machine knows it: one in a container knows itself by another number.
ProcessId process_of(const hub::Block& block, const Event& event);

// "0.5=12.5,0.95=40"
std::string quantiles_text(const hub::CounterValue& value);

// Wall time less TraceTime, now.
std::chrono::nanoseconds wall_offset_now();

}  // namespace clrscope::sinks
