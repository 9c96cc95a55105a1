// Ends the queries of a thread early when nobody waits for their answers any more.
//
//   const CancelScope scope{stop.get_token()};
//   store.flame(query);  // fails with Errc::kGone soon after stop.request_stop()
//
// The engine stops too: the query is killed in ClickHouse and interrupted in SQLite.
#pragma once

#include <stop_token>

#include "base/result.h"

namespace clrscope::store {

class CancelScope {
 public:
  explicit CancelScope(std::stop_token stop);
  ~CancelScope();
  CancelScope(const CancelScope&) = delete;
  CancelScope& operator=(const CancelScope&) = delete;

  // Of the calling thread; outside of scopes one that never stops.
  static const std::stop_token& current();

 private:
  std::stop_token outer_;
};

Result<> check_cancelled();
Failure cancelled();

}  // namespace clrscope::store
