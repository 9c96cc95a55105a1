// The counters of all processes as a page that Prometheus scrapes.
//
// The first scrape begins to follow the processes that are there; those that come are followed
// within seconds; some minutes after the last scrape all are let go. Any thread.
#pragma once

#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "base/guarded.h"
#include "model/process.h"
#include "ops/live/live.h"
#include "sinks/openmetrics.h"

namespace clrscope::ops {

class LiveMetrics {
 public:
  struct Wish {
    bool open_metrics = false;    // else the older text
    bool dotnet_monitor = false;  // its names, else OpenTelemetry's
  };
  struct Page {
    std::string type{};
    std::string text{};
  };
  using List = std::function<Result<std::vector<Process>>()>;  // those that may be told

  using Reach = std::function<TargetWish(const Process&)>;

  LiveMetrics(Live& live, List list, Reach reach);
  ~LiveMetrics();

  // The first waits at most two intervals.
  Page page(const Wish& wish);

 private:
  class Feeder;
  struct Followed {
    std::shared_ptr<Feeder> feeder{};
    TraceTime not_before{};  // it refused
  };
  struct Stores {
    std::unique_ptr<sinks::MetricStore> otel{}, dotnet_monitor{};
  };

  void run(const std::stop_token& stop);
  void look();
  void add(std::span<const hub::CounterValue> values);

  Live& live_;
  const List list_;
  const Reach reach_;
  Guarded<Stores> stores_;
  std::mutex mutex_;
  std::condition_variable_any change_;
  TraceTime asked_{};  // TraceTime{}: not, lately
  bool looked_ = false;
  std::map<pid_t, Followed> followed_;
  std::string trouble_;
  std::atomic<std::uint64_t> scrapes_{0};
  std::jthread worker_;  // last: ends first
};

}  // namespace clrscope::ops
