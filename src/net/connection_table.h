// The connections of a server: who may stay when there are too many. For http_server.cpp only.
//
// A connection is a newcomer until one of its requests is from a known caller. Newcomers are few in
// all and few per address: one more ends the one of them that has been quiet for the longest, of
// the same address or of the address that has most. When all places are taken, the known
// connection that has waited longest for its next request ends. If there is none, the new
// connection goes to the reserve, which is for health checks. Any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "base/guarded.h"

namespace clrscope::net {

struct ConnectionLimits {
  std::size_t all = 1024;
  std::size_t newcomers = 512;
  std::size_t newcomers_of_address = 384;
  std::size_t reserve = 64;  // on top of all
};

class ConnectionTable {
  struct State;

 public:
  explicit ConnectionTable(const ConnectionLimits& limits);

  // The place of one connection; given back with its end.
  class Place {
   public:
    Place(std::shared_ptr<State> state, std::uint64_t id, bool of_reserve)
        : state_(std::move(state)), id_(id), of_reserve_(of_reserve) {}
    ~Place();
    Place(const Place&) = delete;
    Place& operator=(const Place&) = delete;

    bool of_reserve() const { return of_reserve_; }
    void wait();          // for its next request
    void work();          // the head of a request has come
    void become_known();  // it was of a known caller

   private:
    std::shared_ptr<State> state_;
    const std::uint64_t id_;
    const bool of_reserve_;
  };

  // `end` closes the connection, later and on a thread of its own; called at most once. Nothing:
  // there is no place at all.
  std::shared_ptr<Place> enter(const std::string& address, std::function<void()> end);

  std::uint64_t ended() const;  // to make room, so far

 private:
  std::shared_ptr<State> state_;
};

}  // namespace clrscope::net
