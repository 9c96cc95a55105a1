// Exceptions with the same type and the same methods on their stack, counted together.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "analyze/parts.h"
#include "base/shape.h"
#include "live/items.h"
#include "symbols/line_at.h"

namespace clrscope::live {

struct ThrownMessage {
  std::string text{};
  std::uint64_t count = 0;
};
const Shape& shape_of(const ThrownMessage*);

struct ExceptionGroup {
  std::string id{};  // of type and methods: the same in every answer
  std::string type{};
  std::uint64_t count = 0;
  WallTime last{};
  ThreadId thread{};                    // of the newest
  std::vector<analyze::Place> stack{};  // of the newest, from the throw outwards
  std::vector<ThrownMessage> messages{};
  std::uint64_t more_messages = 0;
};
const Shape& shape_of(const ExceptionGroup*);

struct ExceptionGroups {
  static constexpr std::size_t kMost = 200;
  static constexpr std::size_t kMostMessages = 10;  // of a group

  std::vector<ExceptionGroup> groups{};  // by type, then by the method that throws
  std::uint64_t more = 0;                // groups whose last exception is older than those
};

// The frames of an exception, leaf first: of its last addresses, as many as there are frames.
using FramesOf = std::function<std::vector<analyze::Frame>(const Thrown&)>;

// `thrown`: the oldest first. `line_at` may be empty: it is asked about the application's own
// frames of the groups that are answered.
ExceptionGroups group_exceptions(const std::vector<Thrown>& thrown, const FramesOf& frames_of,
                                 const LineAt& line_at);

}  // namespace clrscope::live
