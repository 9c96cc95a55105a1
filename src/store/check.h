// What a check of a store finds: whether what it keeps beside the requests agrees with them.
#pragma once

#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"

namespace clrscope::store {

struct ViewDifference {
  std::string table{};  // the view's
  std::string service{};
  WallTime time{};         // begin of the hour or slot
  std::string requests{};  // numbers of the requests, and of the view
  std::string view{};
};

struct StoreCheck {
  std::uint64_t compared = 0;   // sums
  std::uint64_t unsettled = 0;  // slots left out: some of their requests do not count
  std::uint64_t different = 0;
  std::vector<ViewDifference> differences{};  // the first ones
};

// Of a ClickHouse store: every materialised view against the table of requests. Others have none.
Result<StoreCheck> check_store(const std::string& where);

}  // namespace clrscope::store
