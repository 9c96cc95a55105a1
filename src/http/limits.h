// How much may be under way at a time: for everybody together and for each caller.
//
// A request holds its place until its answer is out, streams until they end. What is full is
// refused with the name of the limit. Any thread; the places may outlive this object.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "base/guarded.h"
#include "http/scope.h"

namespace clrscope::http {

enum class Load : std::uint8_t {
  kLight,      // answered at once: not counted
  kRequest,    // takes a thread for a while
  kRecording,  // a trace: as long as its client wants
  kMemory,     // dumps and heaps: heavy for the process
  kStream,     // server-sent events: long and light
};

struct Limit {
  std::string_view name;
  std::size_t all = 0;
  std::size_t one = 0;  // for one caller
};

class Limits {
 public:
  using Table = std::array<Limit, 5>;  // by Load
  static constexpr Table kUsual{{{"", 0, 0},
                                 {"requests", 256, 24},
                                 {"recordings", 16, 8},
                                 {"memory", 4, 2},
                                 {"streams", 500, 250}}};
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
    std::array<std::size_t, 5> all{};
    std::map<std::string, std::array<std::size_t, 5>> callers{};
  };
  const Table table_;
  std::shared_ptr<Guarded<Counts>> counts_ = std::make_shared<Guarded<Counts>>();
};

}  // namespace clrscope::http
