// How many series (service, method and route) a tenant may have: a series counts until an hour
// after its last request. Any thread.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>

#include "base/clock.h"
#include "base/guarded.h"
#include "store/batch.h"

namespace clrscope::fleet {

class SeriesQuota {
 public:
  static constexpr std::chrono::hours kKept{1};

  // A series that is known to the store.
  void note(std::string_view service, std::string_view route, TraceTime now);
  // Takes requests out whose series would be one too many; 0: any number may be. How many went.
  std::uint64_t apply(store::Batch& batch, std::uint64_t most, TraceTime now);
  std::size_t count(TraceTime now);

 private:
  using Map = std::unordered_map<std::string, TraceTime>;  // key → last request
  static void forget_old(Map& map, TraceTime now);

  Guarded<Map> series_;
};

}  // namespace clrscope::fleet
