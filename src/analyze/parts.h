// Parts that the answers of several reports share: a place in code, and how often and how long.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "analyze/profile.h"
#include "base/shape.h"

namespace clrscope::analyze {

struct Place {
  std::string method{};
  std::string module{};
  FrameKind kind = FrameKind::kUnknown;
  std::optional<std::string> file{};
  std::optional<std::uint32_t> line{};
};
const Shape& shape_of(const Place*);
Place place_of(const Frame& frame);
// "Shop.Cart.Add(int)  Cart.cs:22"; without a line the method alone.
std::string site_text(const Frame& frame);

// Of things that begin and end.
struct Times {
  std::uint64_t count = 0;
  std::uint64_t unfinished = 0;  // of them: had not ended when the trace ended, their time so far
  std::chrono::nanoseconds total{};
  std::chrono::nanoseconds longest{};

  void add(std::chrono::nanoseconds time);
  void add(const Times& more);
  std::chrono::nanoseconds mean() const;  // 0 for none
};
const Shape& shape_of(const Times*);

}  // namespace clrscope::analyze
