#include "ops/forward.h"

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <latch>
#include <map>
#include <set>

#include "base/proc.h"
#include "base/text.h"
#include "hub/remove_all.h"
#include "ipc/discover.h"
#include "ops/counters.h"
#include "ops/events.h"
#include "ops/forward_status_socket.h"
#include "ops/stack_names.h"

namespace clrscope::ops {
namespace {

// When a sink may take over the target of one that is about to close.
struct Turn {
  std::latch come{1};
  std::atomic<bool> never = false;  // the old one stays after all
};

// Opens only when its turn has come; its events wait in the queue meanwhile.
class SucceedingSink final : public hub::Sink {
 public:
  SucceedingSink(std::unique_ptr<hub::Sink> sink, std::shared_ptr<Turn> turn)
      : sink_(std::move(sink)), turn_(std::move(turn)) {}

  Result<> open() override {
    turn_->come.wait();
    return turn_->never ? Result<>{} : sink_->open();
  }
  Result<> on_source(const hub::SourceInfo& source, hub::SourceChange change) override {
    return turn_->never ? Result<>{} : sink_->on_source(source, change);
  }
  Result<> on_batch(const hub::Batch& batch) override {
    return turn_->never ? Result<>{} : sink_->on_batch(batch);
  }
  Result<> on_counters(std::span<const hub::CounterValue> values) override {
    return turn_->never ? Result<>{} : sink_->on_counters(values);
  }
  Result<> on_dropped(std::uint64_t events) override {
    return turn_->never ? Result<>{} : sink_->on_dropped(events);
  }
  Result<> on_tick() override { return turn_->never ? Result<>{} : sink_->on_tick(); }
  std::string state() const override { return sink_->state(); }
  std::optional<std::uint64_t> delivered() const override { return sink_->delivered(); }
  Result<> close(const hub::SessionSummary& summary) override {
    return turn_->never ? Result<>{} : sink_->close(summary);
  }

 private:
  std::unique_ptr<hub::Sink> sink_;
  std::shared_ptr<Turn> turn_;
};

bool chooses(const WatchRequest& targets, const hub::SourceInfo& source) {
  if (targets.all || std::ranges::find(targets.pids, source.pid) != targets.pids.end()) return true;
  if (targets.target.diagnostic_port || !targets.target.command.empty()) return true;
  return std::ranges::any_of(targets.names,
                             [&](const auto& name) { return glob_match(name, source.process); });
}

// Of those that take whole events, LTTng has no place for names.
bool has_stacks(const ForwardRoute& route) {
  return route.request.stacks && !route.request.providers.empty() && route.to.kind->whole_events &&
         route.to.kind->name != "lttng";
}

// All that any route wants.
WatchRequest union_of(const ForwardPlan& plan) {
  WatchRequest all;
  for (const auto& route : plan.routes) {
    const auto& one = route.targets;
    if (one.target.diagnostic_port || !one.target.command.empty()) return one;
    all.pids.insert(all.pids.end(), one.pids.begin(), one.pids.end());
    all.names.insert(all.names.end(), one.names.begin(), one.names.end());
    all.all = all.all || one.all;
  }
  std::ranges::sort(all.pids);
  all.pids.erase(std::ranges::unique(all.pids).begin(), all.pids.end());
  return all;
}

class Forwarder {
 public:
  Forwarder(const ForwardRequest& request, const ForwardWatcher& watcher)
      : request_(request), watcher_(watcher), began_(TraceClock::now()) {}

  Result<ForwardSummary> run() {
    if (auto socket = ForwardStatusSocket::open())
      status_socket_ = std::move(*socket);
    else
      trouble(socket.error().what);
    publish();
    for (const auto pid : union_of(request_.plan).pids) TRY(ipc::find_process(pid));
    for (const auto& route : request_.plan.routes) {
      auto added = TRY(add(request_.plan, route, nullptr));
      running_.push_back(std::move(added));
    }
    watch_ = TRY(Watch::start(hub_, union_of(request_.plan),
                              request_.stop_fds.empty() ? -1 : request_.stop_fds.front()));
    publish();
    if (watcher_.on_start) watcher_.on_start(status());
    ForwardSummary summary;
    summary.stopped_by = work();
    summary.last = status();
    auto ended = hub::remove_all(hub_, listeners_of(running_));
    for (std::size_t i = 0; i < ended.size(); ++i)
      summary.last.sinks[i].summary = std::move(ended[i]);
    return summary;
  }

 private:
  struct Running {
    ForwardRoute route;
    hub::ListenerId listener{};
    std::uint64_t events = 0;  // at the last measurement, for rates
    double rate = 0;
    std::size_t notices = 0;  // that were told
    std::string failure{};    // last one reported, and when
    TraceTime failed{};
  };
  static std::vector<hub::ListenerId> listeners_of(const std::vector<Running>& all) {
    std::vector<hub::ListenerId> ids;
    for (const auto& one : all) ids.push_back(one.listener);
    return ids;
  }
  struct Rate {
    std::uint64_t events = 0;
    double rate = 0;
  };

  void trouble(const std::string& text) const {
    if (watcher_.on_trouble) watcher_.on_trouble(text);
  }

  Result<Running> add(const ForwardPlan& plan, const ForwardRoute& route,
                      const std::shared_ptr<Turn>& after) {
    const sinks::SinkSetting setting{
        .spool = plan.spool, .spool_limit = plan.spool_limit, .interval = route.request.interval};
    auto sink = TRY(has_stacks(route) ? make_sink_with_names(route.to, setting)
                                      : route.to.kind->make(route.to, setting));
    if (after) sink = std::make_unique<SucceedingSink>(std::move(sink), after);
    const auto id =
        TRY(hub_.add(route.request, std::move(sink), [targets = route.targets](const auto& source) {
          return chooses(targets, source);
        }));
    return Running{.route = route, .listener = id};
  }

  void publish() {
    if (status_socket_) status_socket_->publish(status().json());
  }

  collect::StopReason work() {
    const Deadline end{request_.duration.value_or(std::chrono::nanoseconds::max())};
    std::vector<pollfd> fds;
    for (const auto fd : request_.stop_fds)
      fds.push_back({.fd = fd, .events = POLLIN, .revents = 0});
    const auto stops = fds.size();
    fds.push_back({.fd = request_.reload_fd, .events = POLLIN, .revents = 0});
    auto measured = TraceClock::now();
    for (;;) {
      const auto wait = std::min<std::chrono::milliseconds>(end.left(), std::chrono::seconds{1});
      ::poll(fds.data(), fds.size(), static_cast<int>(wait.count()));
      for (const auto& fd : std::span{fds}.first(stops))
        if (fd.revents != 0) return collect::StopReason::kSignal;
      if (end.passed()) return collect::StopReason::kDuration;
      if (fds[stops].revents != 0) reload();
      const auto now = TraceClock::now();
      if (now - measured < std::chrono::milliseconds{900}) continue;
      measure(std::chrono::duration<double>(now - measured).count());
      measured = now;
      // What is read from a file goes on without anybody to watch: somebody may come.
      if (!watch_->refresh() && request_.config.empty()) return collect::StopReason::kTargetEnded;
      if (const auto text = watch_->take_trouble(); !text.empty()) trouble(text);
      tell_owner();
      publish();
    }
  }

  void reload() {
    std::uint64_t times = 0;
    [[maybe_unused]] const auto got = ::read(request_.reload_fd, &times, sizeof times);
    const auto done = request_.read_plan ? take_plan() : Result<>{};
    ++reloads_;
    last_reload_ = done ? "ok" : done.error().what;
    publish();
    if (watcher_.on_reload) watcher_.on_reload(done);
  }

  // Either all of the new plan, or nothing of it.
  Result<> take_plan() {
    const auto plan = TRY(request_.read_plan());
    if (plan.limits != request_.plan.limits)
      return fail(Errc::kUsage, "max-histograms and max-time-series cannot change while it runs")
          .hint("restart forward; programs keep the limits that were set first");
    std::vector<Running> next;
    std::vector<Running> leaving = running_;
    std::vector<hub::ListenerId> fresh;
    const auto turn = std::make_shared<Turn>();
    Result<> added_all{};
    for (const auto& route : plan.routes) {
      const auto same = std::ranges::find_if(
          leaving, [&](const auto& one) { return one.route.identity == route.identity; });
      if (same != leaving.end()) {
        next.push_back(*same);
        leaving.erase(same);
        continue;
      }
      auto added = add(plan, route, turn);
      if (!added) {
        added_all = fail(std::move(added.error()));
        break;
      }
      fresh.push_back(added->listener);
      next.push_back(std::move(*added));
    }
    turn->never = !added_all;
    if (added_all) hub::remove_all(hub_, listeners_of(leaving));
    turn->come.count_down();
    if (!added_all) {
      for (const auto id : fresh) hub_.remove(id);
      return added_all;
    }
    running_ = std::move(next);
    auto targets = union_of(plan);
    watch_->rerequest(std::move(targets.pids), std::move(targets.names), targets.all);
    return {};
  }

  // What nobody would see before he asks: each thing once, a sink's new failures once a minute.
  void tell_owner() {
    for (const auto& [id, summary] : hub_.summaries())
      for (auto& one : running_) {
        if (one.listener != id) continue;
        for (; one.notices < summary.notices.size(); ++one.notices)
          say_once(summary.notices[one.notices]);
        const auto now = TraceClock::now();
        if (summary.last_failure == one.failure || now - one.failed < std::chrono::minutes{1})
          continue;
        one.failure = summary.last_failure;
        one.failed = now;
        trouble(fmt::format("{}: {}", one.route.to.text, one.failure));
      }
  }

  // Several sinks hear of the same thing.
  void say_once(const std::string& text) {
    if (said_.size() < kMaxSaid && said_.insert(text).second) trouble(text);
  }

  void measure(double seconds) {
    for (const auto& [id, summary] : hub_.summaries())
      for (auto& one : running_)
        if (one.listener == id) {
          const auto events = summary.events + summary.counters;
          one.rate = static_cast<double>(events - std::exchange(one.events, events)) / seconds;
        }
    for (const auto& process : hub_.processes()) {
      auto& rate = rates_[process.source->id];
      rate.rate =
          static_cast<double>(process.events - std::min(process.events, rate.events)) / seconds;
      rate.events = process.events;
    }
  }

  ForwardStatus status() {
    ForwardStatus status{.pid = ::getpid(),
                         .config = request_.config,
                         .reloads = reloads_,
                         .last_reload = last_reload_};
    const auto up = TraceClock::now() - began_;
    status.up = up;
    if (const auto own = proc_status(::getpid())) {
      status.memory_bytes = own->rss_bytes;
      status.cpu_percent = 100 * std::chrono::duration<double>(own->cpu).count() /
                           std::max(std::chrono::duration<double>(own->age).count(), 0.01);
    }
    for (const auto& process : hub_.processes())
      status.processes.push_back({.pid = process.source->pid,
                                  .name = process.source->process,
                                  .runtime = process.source->runtime,
                                  .sessions = process.sessions,
                                  .events = process.events,
                                  .events_per_second = rates_[process.source->id].rate,
                                  .ended = process.ended});
    const auto summaries = hub_.summaries();
    for (const auto& one : running_) {
      ForwardStatus::Sink sink{.to = one.route.to.text, .events_per_second = one.rate};
      for (const auto& [id, summary] : summaries)
        if (id == one.listener) sink.summary = summary;
      status.sinks.push_back(std::move(sink));
    }
    return status;
  }

  const ForwardRequest& request_;
  const ForwardWatcher& watcher_;
  const TraceTime began_;
  std::uint64_t reloads_ = 0;
  std::string last_reload_;
  std::map<std::uint64_t, Rate> rates_;  // by source
  static constexpr std::size_t kMaxSaid = 200;
  std::set<std::string> said_;
  std::vector<Running> running_;
  std::unique_ptr<ForwardStatusSocket> status_socket_;
  hub::Hub hub_;
  std::unique_ptr<Watch> watch_;  // last member: lets go first
};

}  // namespace

Result<ForwardRoute> route_of(const RouteWords& words) {
  ForwardRoute route{.targets = words.targets, .to = TRY(sinks::parse_sink(words.to))};
  if (route.targets.pids.empty() && !route.targets.comes_and_goes() &&
      !route.targets.target.diagnostic_port && route.targets.target.command.empty())
    return fail(Errc::kUsage, "no process given").hint("use process-id, name or all");
  auto& request = route.request;
  if (!words.providers.empty()) request.providers = TRY(event_providers(words.providers));
  request.counters = TRY(parse_counters(words.counters));
  if (request.providers.empty() && request.counters.empty()) request.counters = default_counters();
  request.where = TRY(hub::Where::parse(words.where));
  request.stacks = words.stacks;
  request.limits = words.limits;
  request.waits = TRY(route.to.truth("block", false));
  request.interval =
      TRY(route.to.duration("interval", words.interval.value_or(std::chrono::seconds{1})));
  if (request.interval < std::chrono::seconds{1})
    return fail(Errc::kUsage, "interval {} is too short", format_duration(request.interval))
        .hint("use 1s or more");
  const auto& providers = words.providers;
  route.identity = fmt::format(
      "{}|{}|{}|{}|{}|{}|{}|{}|{}|{}|{}|{}", words.to, fmt::join(words.targets.pids, ","),
      fmt::join(words.targets.names, ","), words.targets.all, fmt::join(words.counters, ","),
      fmt::join(providers.providers, ","), providers.profiles.value_or(""),
      providers.clr_events.value_or(""), providers.clr_level.value_or(""), words.where,
      words.stacks, request.interval.count());
  return route;
}

Result<ForwardSummary> forward(const ForwardRequest& request, const ForwardWatcher& watcher) {
  return Forwarder{request, watcher}.run();
}

}  // namespace clrscope::ops
