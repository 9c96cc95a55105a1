// Adds up requests by route and keeps some of them, for a live view and for files of any length.
//
// Percentiles are of all requests, from a histogram (within 1.6 %). Of the sampled requests of each
// route it keeps the slowest, the last failed ones, and a random choice of the others. What it
// holds is bounded. One tally belongs to one thread.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "analyze/request_answers.h"
#include "model/request.h"

namespace clrscope::analyze {

struct TallyLimits {
  std::size_t routes = 500;  // further ones are counted as one
  std::size_t slowest = 5;   // kept of each route
  std::size_t failed = 5;
  std::size_t others = 5;
  std::size_t spans = 200'000;  // of all that are kept
};

class RequestTally {
 public:
  // `wanted`: the beginning of a trace id; requests that have it are kept in any case.
  explicit RequestTally(std::string wanted = {}, TallyLimits limits = {})
      : wanted_(std::move(wanted)), limits_(limits) {}

  void add(RequestBatch batch);

  std::uint64_t ended() const { return ended_; }
  std::uint64_t sampled() const { return sampled_; }

  using WallOf = std::function<WallTime(TraceTime)>;
  std::vector<ProfiledRoute> routes(std::chrono::nanoseconds duration) const;
  std::vector<ProfiledRequest> requests(const WallOf& wall_of) const;
  std::uint64_t not_kept() const { return sampled_ - kept_; }
  std::size_t spans() const { return spans_; }  // of the requests that are kept

 private:
  struct Route {
    std::string method{}, route{};
    std::uint64_t count = 0, errors = 0, sampled = 0;
    std::chrono::nanoseconds total{}, max{}, running{}, waiting{}, queued{};
    std::map<std::uint16_t, std::uint64_t> durations{};  // by bucket
    std::vector<RequestTrace> slowest{};                 // a heap, the fastest first
    std::vector<RequestTrace> failed{};                  // the oldest at `next_failed`
    std::size_t next_failed = 0;
    std::vector<RequestTrace> others{};
    std::uint64_t others_seen = 0;
  };

  Route& route_of(const RequestTrace& request);
  void keep(Route& route, RequestTrace request);
  void keep_other(Route& route, RequestTrace request);
  // Whether there is room for it; counts it in.
  bool admit(const RequestTrace& request);
  void drop(const RequestTrace& request);
  std::uint64_t random();

  std::string wanted_;
  TallyLimits limits_;
  std::map<std::string, Route, std::less<>> routes_;
  std::vector<RequestTrace> found_;  // those that are wanted
  std::vector<std::string> methods_;
  std::uint64_t ended_ = 0;
  std::uint64_t sampled_ = 0;
  std::uint64_t kept_ = 0;
  std::size_t spans_ = 0;
  std::uint64_t seed_ = 0x9e37'79b9'7f4a'7c15;
};

}  // namespace clrscope::analyze
