// Watches whether whoever asked a query still waits for its answer; if not, the query is cancelled.
#pragma once

#include <condition_variable>
#include <functional>
#include <list>
#include <mutex>
#include <thread>

#include "store/cancel.h"

namespace clrscope::fleet {

class QueryWatch {
 public:
  QueryWatch() : thread_([this](const std::stop_token& stop) { run(stop); }) {}

  using Gone = std::function<bool()>;  // any thread

 private:
  struct Entry {
    Gone gone{};
    std::stop_source stop{};
  };

 public:
  // While it lives, the store's queries on this thread are watched.
  class Query {
   public:
    Query(QueryWatch& watch, Gone gone) : watch_(watch), entry_(watch.add(std::move(gone))) {}
    ~Query() { watch_.remove(entry_); }
    Query(const Query&) = delete;
    Query& operator=(const Query&) = delete;

   private:
    QueryWatch& watch_;
    const std::list<Entry>::iterator entry_;
    const store::CancelScope scope_{entry_->stop.get_token()};
  };

 private:
  std::list<Entry>::iterator add(Gone gone);
  void remove(std::list<Entry>::iterator entry);
  void run(const std::stop_token& stop);

  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::list<Entry> running_;  // under mutex_
  std::jthread thread_;       // last member: joins first
};

}  // namespace clrscope::fleet
