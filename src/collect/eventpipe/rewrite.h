// A recording made anew as version 6: with method names taken early, or only its last seconds.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/result.h"
#include "collect/eventpipe/early_names.h"
#include "collect/eventpipe/event_filter.h"
#include "model/event.h"
#include "nettrace/trace_output.h"

namespace clrscope::collect {

// A stack that the runtime's own sampler took.
bool is_runtime_sample(const Event& event);

struct RewriteSummary {
  std::uint64_t bytes = 0;
  std::uint64_t events = 0;
  std::uint64_t lost = 0;
  std::uint64_t samples = 0;
};

// `feed` hands the old trace, piece by piece, to the function it is given.
using Feed = std::function<Result<>(const std::function<Result<>(Bytes)>&)>;

struct Rewrite {
  Feed feed;
  EarlyNames::Traces early_names{};
  std::optional<TraceTime> oldest{};  // earlier events are left out, except names
  std::optional<TraceTime> newest{};  // likewise later ones
  bool cut_begin = false;             // the beginning of the old trace is missing on purpose
  EventFilter* filter = nullptr;      // events that it does not keep are left out
};

// Finishes the output too.
Result<RewriteSummary> rewrite_to(nettrace::TraceOutput& output, const Rewrite& rewrite);

// The file is replaced when the new one is whole, not before.
Result<RewriteSummary> rewrite_file(const std::string& path, nettrace::Packing packing,
                                    const EarlyNames::Traces& early_names);

// An event that later ones need to be understood: it names processes, code, modules.
bool names_something(const Event& event);

}  // namespace clrscope::collect
