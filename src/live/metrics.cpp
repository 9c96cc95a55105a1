#include "live/metrics.h"

#include <algorithm>

namespace clrscope::live {
namespace {

constexpr std::chrono::seconds kLook{2};
constexpr std::chrono::seconds kRetry{30};

}  // namespace

// One process's counters into the stores.
class LiveMetrics::Feeder final : public Follower {
 public:
  Feeder(LiveMetrics& metrics, pid_t pid) : metrics_(metrics), pid_(pid) {}

  bool on_item(const LiveItem& item) override {
    if (stopped_) return false;
    metrics_.add(item.counters);
    told_ = true;
    return true;
  }
  bool on_tick() override { return !stopped_; }
  void on_end(const std::string&) override {
    if (stopped_.exchange(true)) return;
    metrics_.stores_.with([&](Stores& stores) {
      for (auto* store : {stores.otel.get(), stores.dotnet_monitor.get()})
        if (store) store->gone({.pid = pid_}, TraceClock::now());
    });
  }
  void stop() { stopped_ = true; }
  bool stopped() const { return stopped_; }
  bool told() const { return told_; }

 private:
  LiveMetrics& metrics_;
  const pid_t pid_;
  std::atomic<bool> stopped_{false}, told_{false};
};

LiveMetrics::LiveMetrics(Live& live, List list, Reach reach, Findings findings)
    : live_(live),
      list_(std::move(list)),
      reach_(std::move(reach)),
      findings_(std::move(findings)) {
  worker_ = std::jthread{[this](const std::stop_token& stop) { run(stop); }};
}

LiveMetrics::~LiveMetrics() {
  worker_.request_stop();
  worker_.join();
  const std::lock_guard lock{mutex_};
  for (auto& [pid, one] : followed_)
    if (one.feeder) one.feeder->stop();
}

void LiveMetrics::add(std::span<const hub::CounterValue> values) {
  stores_.with([&](Stores& stores) {
    for (auto* store : {stores.otel.get(), stores.dotnet_monitor.get()})
      if (store) store->add(values);
  });
}

void LiveMetrics::run(const std::stop_token& stop) {
  std::unique_lock lock{mutex_};
  while (!stop.stop_requested()) {
    if (asked_ == TraceTime{}) {
      change_.wait(lock, stop, [&] { return asked_ != TraceTime{}; });
      continue;
    }
    if (TraceClock::now() - asked_ > live_.setting().limits.keep) {
      asked_ = {};
      looked_ = false;
      for (auto& [pid, one] : followed_)
        if (one.feeder) one.feeder->stop();
      followed_.clear();
      stores_.with([](Stores& stores) { stores = {}; });
      continue;
    }
    lock.unlock();
    refresh();
    lock.lock();
    looked_ = true;
    change_.notify_all();
    change_.wait_for(lock, stop, kLook, [&] { return asked_ == TraceTime{}; });
  }
}

void LiveMetrics::refresh() {
  const auto found = list_();
  if (!found) return;
  std::vector<LiveWho> wanted;
  {
    const std::lock_guard lock{mutex_};
    std::erase_if(followed_, [&](const auto& one) {
      return (one.second.feeder && one.second.feeder->stopped()) ||
             std::ranges::none_of(*found, [&](const auto& p) { return p.pid == one.first; });
    });
    for (const auto& process : *found) {
      const auto& one = followed_[process.pid];
      // One that has just begun is left alone; the next look finds it.
      if (one.feeder || !process.reachable() || process.up < std::chrono::seconds{2} ||
          TraceClock::now() < one.not_before)
        continue;
      wanted.emplace_back(process.pid, reach_(process));
    }
  }
  for (const auto& who : wanted) {
    const auto pid = who.pid;
    auto feeder = std::make_shared<Feeder>(*this, pid);
    const auto process = live_.process(who);
    Result<> done;
    if (process) {
      stores_.with([&](Stores& stores) {
        for (auto* store : {stores.otel.get(), stores.dotnet_monitor.get()})
          if (store) store->came((*process)->info());
      });
      done = (*process)->follow({live_.counters_of()}, feeder, std::nullopt);
    }
    const std::lock_guard lock{mutex_};
    if (process && done)
      followed_[pid].feeder = std::move(feeder);
    else
      followed_[pid].not_before = TraceClock::now() + kRetry;
  }
}

LiveMetrics::Page LiveMetrics::page(const Options& request) {
  using sinks::MetricKind;
  const auto names =
      request.dotnet_monitor ? sinks::MetricNames::kDotnetMonitor : sinks::MetricNames::kOtel;
  ++scrapes_;
  const bool fresh = stores_.with([&](Stores& stores) {
    auto& store = request.dotnet_monitor ? stores.dotnet_monitor : stores.otel;
    if (store) return false;
    store = std::make_unique<sinks::MetricStore>(sinks::MetricStore::Setting{.names = names});
    return true;
  });
  std::vector<std::shared_ptr<Feeder>> feeders;
  {
    std::unique_lock lock{mutex_};
    asked_ = TraceClock::now();
    change_.notify_all();
    if (fresh) change_.wait_for(lock, live_.setting().interval * 2, [&] { return looked_; });
    for (const auto& [pid, one] : followed_)
      if (one.feeder) feeders.push_back(one.feeder);
  }
  const Deadline deadline{live_.setting().interval * 2};
  while (fresh && !deadline.passed() &&
         (request.dotnet_monitor ||
          std::ranges::any_of(feeders, [](const auto& one) { return !one->told(); })))
    std::this_thread::sleep_for(std::chrono::milliseconds{20});
  const auto format =
      request.open_metrics ? sinks::TextFormat::kOpenMetrics : sinks::TextFormat::kPrometheus;
  Page page{.type = std::string{content_type(format)}};
  std::vector<sinks::OwnMetric> own;
  for (const auto& one : findings_ ? findings_() : std::vector<CurrentFinding>{})
    own.push_back({"clrscope_finding",
                   "findings that the checks of the processes see now",
                   MetricKind::kGauge,
                   1,
                   {{"process", one.process},
                    {"pid", std::to_string(one.pid)},
                    {"id", std::string{one.finding.id}},
                    {"severity", std::string{name_of(one.finding.severity)}}}});
  stores_.with([&](Stores& stores) {
    auto* store = (request.dotnet_monitor ? stores.dotnet_monitor : stores.otel).get();
    if (!store) return;  // let go in this moment
    store->expire(TraceClock::now());
    const sinks::OwnMetric of_us[] = {
        {"clrscope_processes", "processes watched now or recently", MetricKind::kGauge,
         static_cast<double>(store->processes())},
        {"clrscope_series", "series of processes on this page", MetricKind::kGauge,
         static_cast<double>(store->series())},
        {"clrscope_values_refused", "values dropped because of the series limit",
         MetricKind::kCounter, static_cast<double>(store->refused())},
        {"clrscope_scrapes", "requests of this page", MetricKind::kCounter,
         static_cast<double>(scrapes_)},
    };
    own.insert(own.end(), std::begin(of_us), std::end(of_us));
    page.text = metrics_text(*store, names, format, own);
  });
  return page;
}

}  // namespace clrscope::live
