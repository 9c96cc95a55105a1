// The sources of the agent: what each one tells, what it needs, how long it usually listens.
#pragma once

#include <chrono>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/shape.h"

namespace clrscope::ops {

struct AgentSource {
  std::string_view id;     // the word of clrscope agent and of the routes
  std::string_view title;  // for a heading
  std::string_view description;
  std::uint32_t bit;              // of wire::Source; 0: not switched, asked for once
  std::chrono::seconds duration;  // unless another one is given
  std::string_view parameters;
  std::string_view flags;  // of the profiling API, and what else the runtime must allow
  std::string_view limits;
};
std::span<const AgentSource> agent_sources();
// The words of these bits, in the order of the list.
std::vector<std::string> names_of_sources(std::uint32_t bits);
// "exceptions,contention"; "none" or an empty text: no bits.
Result<std::uint32_t> parse_sources(std::string_view text);

struct AgentSourceAnswer {
  std::string_view id{}, title{}, description{};
  bool switchable = false;
  std::chrono::duration<double> duration{};
  std::string_view parameters{}, flags{};
  bool at_start = true, by_attach = true;
  std::string_view limits{};
};
const Shape& shape_of(const AgentSourceAnswer*);
std::vector<AgentSourceAnswer> agent_source_answers();

}  // namespace clrscope::ops
