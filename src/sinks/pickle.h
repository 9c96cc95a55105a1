// Python's pickle as carbon takes it: a list of (path, (timestamp, value)), protocol 2, after its
// length in four bytes, big end first.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/waiting.h"

namespace clrscope::sinks {

// Packs points into pickles of at most so many bytes. Paths are ASCII.
class PicklePacker {
 public:
  explicit PicklePacker(std::size_t most) : most_(most) {}
  // False: it is longer than a pickle may be.
  bool add(std::string_view path, std::int64_t second, double value);
  std::vector<Message> take();

 private:
  std::size_t most_;
  std::vector<Message> messages_;  // the inside of the lists
};

}  // namespace clrscope::sinks
