// When the spans of a request begin, as far as it follows from those before them: a chunk holds the
// differences only, and writer and reader foretell the same.
#pragma once

#include <vector>

#include "store/sqlite/chunk.h"

namespace clrscope::store {

class BeginForecast {
 public:
  BeginForecast(BeginRule rule, std::size_t spans) : rule_(rule) {
    if (rule != BeginRule::kBefore) after_.assign(spans + 1, 0);
  }
  // `parent`: 1 + position, 0: none.
  std::uint64_t next(std::uint32_t parent) const {
    return rule_ == BeginRule::kBefore ? before_ : after_[parent];
  }
  void note(std::size_t at, std::uint32_t parent, std::uint64_t begin, std::uint64_t duration,
            std::uint64_t self) {
    if (rule_ == BeginRule::kBefore) {
      before_ = begin + self;
      return;
    }
    after_[at + 1] = begin;
    if (rule_ == BeginRule::kSibling) after_[parent] = begin + duration;
  }

 private:
  BeginRule rule_;
  std::uint64_t before_ = 0;
  std::vector<std::uint64_t> after_;  // by parent
};

}  // namespace clrscope::store
