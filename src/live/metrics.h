// The counters of all processes as a page that Prometheus scrapes.
//
// The first scrape starts watching the running processes; new ones are added within seconds; some
// minutes after the last scrape all are released. Any thread.
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
#include "live/live.h"
#include "live/watch_answers.h"
#include "model/process.h"
#include "sinks/openmetrics.h"

namespace clrscope::live {

class LiveMetrics {
 public:
  struct Options {
    bool open_metrics = false;    // else the older text
    bool dotnet_monitor = false;  // its names, else OpenTelemetry's
  };
  struct Page {
    std::string type{};
    std::string text{};
  };
  using List = std::function<Result<std::vector<Process>>()>;  // those that may be told

  using Reach = std::function<ops::TargetRequest(const Process&)>;

  // What is wrong with them now; may be empty.
  using Findings = std::function<std::vector<CurrentFinding>()>;

  LiveMetrics(Live& live, List list, Reach reach, Findings findings = {});
  ~LiveMetrics();

  // The first waits at most two intervals.
  Page page(const Options& request);

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
  void refresh();
  void add(std::span<const hub::CounterValue> values);

  Live& live_;
  const List list_;
  const Reach reach_;
  const Findings findings_;
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

}  // namespace clrscope::live
