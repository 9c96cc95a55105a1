// Ends the queries of a thread early when nobody waits for their answers any more.
//
//   const CancelScope scope{stop.get_token()};
//   store.flame(query);  // fails with Errc::kGone soon after stop.request_stop()
//
// The engine stops too: the query is killed in ClickHouse and interrupted in SQLite.
#pragma once

#include <cstdint>
#include <stop_token>

#include "base/result.h"

namespace clrscope::store {

class CancelScope {
 public:
  // What is cancelled: a write that was begun is finished unless it may be repeated and kAll.
  enum class What : std::uint8_t { kQueries, kAll };
  explicit CancelScope(std::stop_token stop, What what = What::kQueries);
  ~CancelScope();
  CancelScope(const CancelScope&) = delete;
  CancelScope& operator=(const CancelScope&) = delete;

  // Of the calling thread; outside of scopes one that never stops.
  static const std::stop_token& current();
  static What what();

 private:
  std::stop_token outer_;
  What outer_what_;
};

Result<> check_cancelled();
Failure cancelled();

}  // namespace clrscope::store
