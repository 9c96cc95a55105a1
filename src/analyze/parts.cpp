#include "analyze/parts.h"

#include <algorithm>

#include "analyze/durations.h"

namespace clrscope::analyze {

const Shape& shape_of(const Place*) {
  static const auto shape = describe<Place>(
      "Place", "place in code",
      {member<&Place::method>("method", "name of the method or function; ? when unknown"),
       member<&Place::module>("module", "module without its extension; empty when unknown"),
       member<&Place::kind>("kind", "whose code it is"),
       member<&Place::file>("file", "source file, if lines were requested"),
       member<&Place::line>("line", "source line")});
  return shape;
}

Place place_of(const Frame& frame) {
  Place place{.method = frame.method, .module = frame.module, .kind = frame.kind};
  if (frame.line != 0) {
    place.file = frame.file;
    place.line = frame.line;
  }
  return place;
}

std::string site_text(const Frame& frame) {
  return frame.line != 0 ? frame.method + "  " + place_text(frame) : frame.method;
}

const Shape& shape_of(const Times*) {
  static const auto shape = describe<Times>(
      "Times", "how often something happened, and how long it took",
      {member<&Times::count>("count", "how often"),
       member<&Times::unfinished>("unfinished", "those that had not ended when the trace ended"),
       member<&Times::total>("totalMs", "total time, of unfinished ones until the trace ended"),
       member<&Times::longest>("longestMs", "longest time of one")});
  return shape;
}

void Times::add(std::chrono::nanoseconds time) {
  ++count;
  grow(total, time);
  longest = std::max(longest, time);
}

void Times::add(const Times& more) {
  count += more.count;
  unfinished += more.unfinished;
  grow(total, more.total);
  longest = std::max(longest, more.longest);
}

std::chrono::nanoseconds Times::mean() const {
  return total / static_cast<std::int64_t>(std::max<std::uint64_t>(1, count));
}

}  // namespace clrscope::analyze
