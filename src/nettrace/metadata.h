// What kinds of events a trace has declared, by the number it gave them.
//
// Types live as long as the table; one that is declared again, under the same number or another, is
// the same one.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "model/event.h"

namespace clrscope::nettrace {

class TypeTable {
 public:
  // One declaration: V3 to V5 are a row's payload, V6 is a row of a metadata block without its
  // size. A failure leaves the table as it was, unless only the fields could not be read: then the
  // type is there without them.
  Result<> declare_v5(Bytes declaration);
  Result<> declare_v6(Bytes declaration);

  // A V6 sequence point may end the meaning of all numbers.
  void forget_numbers();

  const EventType* find(std::uint32_t number) const {
    if (number < flat_.size()) return flat_[number];
    return find_sparse(number);
  }

  std::size_t size() const { return types_.size(); }
  const EventType& operator[](std::size_t index) const { return types_[index]; }

 private:
  const EventType* find_sparse(std::uint32_t number) const;
  Result<> add(std::uint32_t number, Bytes identity, EventType type);
  const EventType* known(Bytes identity) const;
  void bind(std::uint32_t number, const EventType* type);

  std::deque<EventType> types_;
  std::size_t bytes_ = 0;
  std::unordered_map<std::string, const EventType*> by_content_;
  std::vector<const EventType*> flat_;
  std::unordered_map<std::uint32_t, const EventType*> sparse_;
};

}  // namespace clrscope::nettrace
