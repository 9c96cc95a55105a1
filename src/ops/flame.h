// Flame graphs of traces: the data of the viewer, and the same as text.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "analyze/flame.h"
#include "base/result.h"
#include "ops/trace_bytes.h"

namespace clrscope::ops {

// Words of rooms below that are part of this interface.
using analyze::FlameAnswer;
using analyze::RouteSamples;

struct FlameRead {
  analyze::FlameGraph graph;
  std::string title{};  // whom it is about: "Shop (4312)", or the file's name
  std::uint64_t events = 0;
  std::uint64_t lost = 0;
  std::string damage{};  // a line on what could not be read, or empty
  // Stacks that do not reach their root, where the recorder told: a trace does not say.
  std::optional<std::uint64_t> broken_stacks{};
  std::optional<RouteSamples> route{};  // of this route alone
};

// `path` as read_trace takes it. A trace without samples is no error: its graph is empty.
Result<FlameRead> read_flame(const std::string& path, const OnTraceProgress& on_progress = {},
                             const TraceLimits& limits = {});

// The CPU samples of a route of profiled requests ("GET /orders/{id}"), which were recorded by
// clrscope requests -o. Reads the trace twice: the times of requests come after their samples.
Result<FlameRead> read_route_flame(const std::string& path, const std::string& route,
                                   const TraceLimits& limits = {});

// The error of a trace that has nothing to draw.
Error no_samples(const FlameRead& read, const std::string& path);

// What the graph of a route covers, and what it does not.
std::string route_line(const RouteSamples& route);

std::string flame_json(const FlameRead& read);
// The functions with the most time of their own, a line each: what stands in a page before its
// script runs.
std::string flame_text(const FlameRead& read, std::size_t rows = 30);

}  // namespace clrscope::ops
