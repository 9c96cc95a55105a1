// How much may be under way at a time: for everybody together and for each caller.
//
// A request holds its place until its answer is out, streams until they end. What is full is
// refused with the name of the limit. Any thread; the places may outlive this object.
#pragma once

#include <array>
#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "base/guarded.h"
#include "base/result.h"
#include "http/load.h"

namespace clrscope::http {

class Limits {
 public:
  using Table = std::array<Limit, kLoads>;  // by Load
  static constexpr Table kUsual{{{"", 0, 0},
                                 {"requests", 256, 24},
                                 {"recordings", 16, 8},
                                 {"memory", 4, 2},
                                 {"streams", 500, 250},
                                 {"conversions", 8, 4},
                                 {"", 0, 0}}};
  explicit Limits(const Table& table = kUsual) : table_(table) {}

  struct Full {
    std::string_view limit;
    std::size_t most = 0;
    bool of_caller = false;
  };
  using Place = std::shared_ptr<void>;
  std::variant<Place, Full> enter(Load load, const std::string& caller);
  std::size_t under_way(Load load) const;

 private:
  struct Counts {
    std::array<std::size_t, kLoads> all{};
    std::map<std::string, std::array<std::size_t, kLoads>> callers{};
  };
  const Table table_;
  std::shared_ptr<Guarded<Counts>> counts_ = std::make_shared<Guarded<Counts>>();
};

// 429, with the name of the limit.
Error full_error(const Limits::Full& full);

}  // namespace clrscope::http
