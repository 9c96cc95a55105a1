#include "ops/request_profile.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "analyze/request_recording.h"
#include "analyze/request_tally.h"
#include "base/text.h"
#include "collect/agent/outer_threads.h"
#include "collect/agent/request_assembler.h"
#include "ops/agent_place.h"
#include "ops/probe_progress.h"
#include "ops/request_file.h"
#include "ops/request_samples.h"
#include "ops/request_totals.h"
#include "ops/startup_helper.h"
#include "ops/trace_file.h"

namespace clrscope::ops {
namespace {

using std::chrono::nanoseconds;

constexpr std::chrono::seconds kAnswer{10};
constexpr std::chrono::seconds kStatusEvery{1};
constexpr std::chrono::milliseconds kHandOverEvery{100};
constexpr std::chrono::seconds kFirstSettings{2};
constexpr std::chrono::milliseconds kGrace{300};  // for requests in flight at the end
constexpr std::chrono::milliseconds kDrain{5};    // a ring holds some 2,000 spans
constexpr std::size_t kLiveSpans = 20'000;        // told in a few milliseconds

// Tells the managed helper where the agent is, so that it reports requests to it.
Result<> bring_helper(Target& target, std::uint64_t api) {
  const auto pid = target.process.pid;
  const auto name = TRY(helper_folder_name(pid));
  const auto folder = TRY(TargetFolder::open(pid, name, true));
  std::string hook;
  const auto tell = [&]() -> Result<> {
    hook = TRY(place_hook(folder));
    const auto answer =
        TRY(tell_helper(target, folder, hook, fmt::format("command=requests\napi={}\n", api)));
    if (value_of(answer, "requests") == "ready") return {};
    const auto why = value_of(answer, "error");
    return fail(Errc::kUnsupported, "the helper in process {} cannot report requests: {}", pid,
                why.empty() ? "it belongs to another version of clrscope" : why)
        .hint(
            "profile an ASP.NET Core app (.NET 8 or later); restart it if an older clrscope has "
            "loaded its helper");
  };
  const auto told = tell();
  if (folder.made()) forget_helper(folder, hook);
  return told;
}

std::string host_name() {
  std::array<char, 256> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? std::string{name.data()} : "unknown";
}

class Profiling {
 public:
  Profiling(const ProfileRequest& request, const ProfileWatcher& watcher, Target& target,
            collect::AgentConnection& connection)
      : request_(request),
        watcher_(watcher),
        target_(target),
        connection_(connection),
        order_{request.include, request.exclude, request.sampling},
        tally_(request.trace_id) {}

  Result<RequestProfile> run() {
    const auto status = TRY(connection_.demand(wire::RequestKind::kHello, 0, Deadline{kAnswer}));
    arena_.emplace(TRY(connection_.open_arena(Deadline{kAnswer})));
    // Beside another profiler the agent cannot change methods. It hears requests all the same, and
    // knows when which thread works for which.
    if (status.identity == wire::Identity::kMain)
      probes_.emplace(TRY(connection_.open_probes(Deadline{kAnswer})));
    else
      notes_.push_back(fmt::format(
          "Another profiler has the main place in process {}: methods cannot be instrumented. "
          "Requests have no spans; their times, threads and CPU samples are there.",
          target_.process.pid));
    requests_.emplace(TRY(connection_.open_requests(Deadline{kAnswer})));
    threads_.emplace(TRY(collect::OuterThreads::of(target_.process.pid)));
    // Before the methods are changed: a file that cannot be written costs the process nothing.
    if (!request_.output.empty())
      file_ = TRY(RequestFile::create(request_.output, target_.process.pid, request_.samples));
    if (request_.uplink) uplink_.emplace(TRY(start_uplink(*request_.uplink)));
    if (request_.uplink && request_.samples)
      samples_.emplace(target_.process.pid, request_.uplink->rate);
    auto heard = TRY(begin_settings()) == WaitEnd::kReached ? listen() : stopped_early();
    if (alive_) stop();
    if (heard) heard = take_rest();
    if (!heard) return fail(heard.error());
    auto profile = answer();
    if (file_) TRY(finish_file(profile));
    if (uplink_) profile.sent = uplink_->finish();
    if (samples_ && !samples_->trouble().empty())
      profile.notes.push_back(fmt::format("No CPU samples were sent: {}.", samples_->trouble()));
    return profile;
  }

 private:
  Result<WaitEnd> prepare() {
    const auto api = requests_->api();
    if (api == 0)
      return fail(Errc::kUnsupported, "the agent in process {} cannot profile requests",
                  target_.process.pid)
          .hint("run clrscope detach, then try again");
    const auto helper = requests_->counts().helper;
    if (helper != wire::HelperState::kReady && helper != wire::HelperState::kEnabled)
      TRY(bring_helper(target_, api));
    TRY(requests_->set_order(order_.sampling));
    return probes_ ? instrument(kChangeMethods) : Result<WaitEnd>{WaitEnd::kReached};
  }

  // After a failure no method has probes. After a stop, until stop() takes them back.
  Result<WaitEnd> instrument(nanoseconds patience) {
    instrumented_ = false;
    TRY(probes_->set_order(
        {.include = order_.include,
         .exclude = order_.exclude,
         .smallest_il = request_.smallest_il,
         .share_ppm = static_cast<std::uint32_t>(request_.method_percent * 10'000),
         .with_accessors = request_.with_accessors,
         .for_requests = true}));
    auto changed = change_methods(*probes_, connection_, patience, stop_);
    instrumented_ = changed && *changed == WaitEnd::kReached;
    if (!changed) TRY(take_back_methods(*probes_, connection_, stop_));
    return changed;
  }

  // With the settings that the server wants, as far as they are known: those that were kept.
  Result<WaitEnd> begin_settings() {
    if (!follows()) return prepare();
    TRY(uplink_->tell(0, ""));
    if (const auto wanted = uplink_->take_settings(kFirstSettings); wanted && wanted->version > 0) {
      order_ = order_of(*wanted);
      const auto prepared = prepare();
      if (prepared) {
        TRY(settled(wanted->version, ""));
        return *prepared;
      }
      order_ = own_order();
      trouble_ = prepared.error().what;
    }
    const auto prepared = TRY(prepare());
    TRY(settled(0, trouble_));
    return prepared;
  }

  Result<> stopped_early() {
    started_ = TraceClock::now();
    started_wall_ = wall_now();
    notes_.push_back("Stopped before all methods were instrumented: no request was recorded.");
    return {};
  }

  // What the server wants now, if that is something else.
  Result<> follow_server() {
    const auto wanted = follows() ? uplink_->take_settings() : std::nullopt;
    if (!wanted || wanted->version == configuration_) return {};
    const auto before = std::exchange(order_, order_of(*wanted));
    if (order_ == before && (instrumented_ || !probes_)) return settled(wanted->version, "");
    if (probes_ && !order_.include.empty()) {
      // What is wrong with them is known before anything stops.
      if (const auto checked = check_patterns(); !checked) {
        order_ = before;
        return settled(configuration_, checked.error().what);
      }
    }
    TRY(pause());
    const bool other_methods =
        order_.include != before.include || order_.exclude != before.exclude || !instrumented_;
    auto changed = change_order(other_methods);
    if (changed && *changed == WaitEnd::kStopped) return {};
    if (changed) {
      TRY(resume());
      notes_.push_back(fmt::format("Version {} of the server's configuration is in force since {}.",
                                   wanted->version, iso8601(wall_now())));
      return settled(wanted->version, "");
    }
    if (changed.error().code == Errc::kGone) return fail(changed.error());
    order_ = before;
    auto trouble = fmt::format("version {}: {}", wanted->version, changed.error().what);
    const auto back = prepare();
    if (back && *back == WaitEnd::kStopped) return {};
    if (!back) {
      if (back.error().code == Errc::kGone) return fail(back.error());
      // Requests go on without spans, until the server has another version.
      trouble += fmt::format("; requests have no spans: {}", back.error().what);
    }
    TRY(resume());
    notes_.push_back(fmt::format("The server's configuration was not applied: {}.", trouble));
    return settled(configuration_, std::move(trouble));
  }

  Result<WaitEnd> change_order(bool other_methods) {
    TRY(requests_->set_order(order_.sampling));
    if (!probes_ || !other_methods) return WaitEnd::kReached;
    return instrument(request_.uplink->change_timeout);
  }

  Result<> check_patterns() const {
    std::size_t bytes = 0;
    for (const auto* list : {&order_.include, &order_.exclude})
      for (const auto& one : *list) bytes += one.size() + 2;
    if (bytes > wire::kPatternBytes)
      return fail(Errc::kUsage, "the patterns must not be longer than {} bytes together",
                  wire::kPatternBytes);
    return {};
  }

  Result<> settled(std::uint64_t version, std::string trouble) {
    configuration_ = version;
    trouble_ = std::move(trouble);
    return uplink_->tell(configuration_, trouble_);
  }

  // Requests that are in flight meanwhile are counted as lost.
  Result<> pause() {
    TRY(connection_.demand(wire::RequestKind::kRequestsStop, 0, Deadline{kAnswer}));
    drain();
    drain();
    assembler_.finish();
    TRY(hand_over());
    assembler_.restart();
    totals_.pause(requests_->counts());
    return {};
  }

  Result<> resume() {
    TRY(connection_.demand(wire::RequestKind::kRequestsStart, 0, Deadline{kAnswer}));
    totals_.resume();
    return wait_for_helper();
  }

  collect::RequestCounts counts() const { return totals_.with(requests_->counts()); }

  Result<> listen() {
    const auto begun = connection_.demand(wire::RequestKind::kRequestsStart, 0, Deadline{kAnswer});
    if (!begun) {
      if (begun.error().code == Errc::kGone) alive_ = false;
      return fail(begun.error());
    }
    TRY(wait_for_helper());
    started_ = TraceClock::now();
    started_wall_ = wall_now();
    if (watcher_.on_start) watcher_.on_start();
    stop_.deadline = Deadline{request_.listen.duration};
    auto next_batch = started_ + kHandOverEvery;
    auto next_status = started_ + kStatusEvery;
    Result<> written;
    while (!stop_.is_met() && !stop_.wait(connection_.fd(), kDrain)) {
      drain();
      const auto now = TraceClock::now();
      if (now >= next_batch) {
        if (written = hand_over(); !written) break;
        if (written = follow_server(); !written) {
          if (written.error().code != Errc::kGone) break;
          alive_ = false;  // it ended meanwhile: no failure of ours
          written = {};
          break;
        }
        next_batch = now + kHandOverEvery;
      }
      if (now >= next_status && watcher_.on_status) {
        watcher_.on_status(live_state(now - started_));
        next_status = now + kStatusEvery;
      }
    }
    alive_ = alive_ && !connection_.has_ended();
    if (!alive_ && watcher_.on_exit) watcher_.on_exit();
    duration_ = TraceClock::now() - started_;
    return written;
  }

  // Until the helper hears requests, or we are to stop: the first time it is compiled.
  Result<> wait_for_helper() {
    const Deadline deadline{kAnswer};
    for (;;) {
      const auto state = requests_->counts().helper;
      if (state == wire::HelperState::kEnabled) return {};
      if (stop_.is_met()) return {};
      if (stop_.wait(connection_.fd(), kDrain)) {
        alive_ = false;
        return fail(Errc::kGone, "the process has ended");
      }
      if (state == wire::HelperState::kFailed || deadline.passed())
        return fail(Errc::kUnsupported, "the helper in process {} does not hear requests",
                    target_.process.pid)
            .hint("see what the process wrote to stderr");
    }
  }

  void drain() {
    requests_->drain(
        [this](const void* bytes, std::uint32_t size) { assembler_.take(bytes, size); });
    assembler_.end_round(TraceClock::now());
    if (const auto clock = arena_->clock()) clock_ = clock;
  }

  Result<RequestUplink> start_uplink(const UplinkRequest& request) const {
    const auto& process = target_.process;
    return RequestUplink::start(
        request, {.host = host_name(),
                  .service = request.service.empty() ? process.name : request.service,
                  .version = request.version,
                  .instance = uplink::new_instance(),
                  .pid = static_cast<std::uint32_t>(process.pid),
                  .runtime = process.runtime,
                  .relay_version = {}});
  }

  // With what was counted since the last time; at least once a second, so that the server knows
  // that we are there.
  Result<> send(const RequestBatch& batch) {
    const auto now = TraceClock::now();
    if (batch.requests.empty() && now < last_sent_ + kStatusEvery) return {};
    last_sent_ = now;
    const auto counts = this->counts();
    const auto& losses = assembler_.losses();
    const uplink::Recording all{.seen = counts.seen,
                                .sampled = counts.sampled,
                                .lost_requests = counts.ends_dropped + losses.requests,
                                .lost_spans = counts.dropped + losses.spans + losses.late,
                                .cpu = counts.cost,
                                .lost_samples = samples_ ? samples_->lost() : 0};
    const auto fresh = all - std::exchange(sent_, all);
    return uplink_->send(batch, fresh);
  }

  // As we see them, and as CPU samples have them.
  void number_threads(RequestBatch& batch) {
    const auto renumber = [this](std::uint32_t& thread) {
      thread = static_cast<std::uint32_t>(threads_->outer(thread));
    };
    for (auto& request : batch.requests) {
      for (auto& part : request.parts) renumber(part.thread);
      for (auto& span : request.spans) {
        renumber(span.thread);
        for (auto& step : span.steps) renumber(step.thread);
      }
    }
  }

  Result<> hand_over() {
    auto batch = assembler_.hand_over(clock_);
    number_threads(batch);
    if (samples_)
      TRY(send(samples_->exchange(batch, TraceClock::now())));
    else if (uplink_)
      TRY(send(batch));
    if (batch.requests.empty()) return {};
    if (file_) TRY(file_->write(batch));
    if (watcher_.on_batch) TRY(watcher_.on_batch(batch));
    tally_.add(std::move(batch));
    return {};
  }

  // The counters are of the order that ends here.
  void stop() {
    if (!totals_.is_paused()) let_end();
    (void)connection_.demand(wire::RequestKind::kRequestsStop, 0, Deadline{kAnswer});
    const StopCondition asked{.fds = request_.listen.stop_fds};
    if (probes_ && !take_back_methods(*probes_, connection_, asked))
      notes_.push_back("The methods did not get their own code back in time.");
  }

  // Clients have their answers before the end of their requests is heard, and what is short may end
  // as usual. No request begins meanwhile; an older agent, which cannot do that, ends at once.
  void let_end() {
    if (!connection_.demand(wire::RequestKind::kRequestsFinish, 0, Deadline{kAnswer})) return;
    StopCondition grace{.fds = request_.listen.stop_fds, .deadline = Deadline{kGrace}};
    if (grace.is_met()) grace.fds = {};  // it was asked for before
    const auto in_flight = [this] {
      const auto now = requests_->counts();
      return now.ended < now.seen;
    };
    while (in_flight() && !grace.is_met() && !grace.wait(connection_.fd(), kDrain)) drain();
  }

  // The rings outlive a process.
  Result<> take_rest() {
    drain();
    drain();
    assembler_.finish();
    TRY(hand_over());
    return samples_ ? send(samples_->finish()) : Result<>{};
  }

  Result<> finish_file(RequestProfile& profile) {
    TRY(file_->finish(profile));
    profile.file = request_.output;
    if (!request_.samples) return {};
    profile.samples = file_->samples();
    if (!file_->no_samples().empty())
      profile.notes.push_back(
          fmt::format("No CPU samples in {}: {}.", request_.output, file_->no_samples()));
    return {};
  }

  RequestProfile state(nanoseconds duration) {
    const auto counts = this->counts();
    const auto& losses = assembler_.losses();
    RequestProfile out{.pid = target_.process.pid,
                       .duration = duration,
                       .seen = counts.seen,
                       .sampled = counts.sampled,
                       .forced = counts.forced,
                       .in_flight = counts.in_flight,
                       .probability = counts.probability};
    out.lost = {.records = counts.dropped,
                .requests = counts.ends_dropped + losses.requests,
                .spans = losses.spans,
                .late = losses.late,
                .orphans = losses.orphans,
                .damaged = losses.damaged + requests_->damaged()};
    out.cost = {.hooks = counts.cost, .hearing = counts.hearing, .process = counts.process};
    if (counts.process.count() > 0)
      out.cost.cpu_percent = 100.0 * static_cast<double>(counts.cost.count()) /
                             static_cast<double>(counts.process.count());
    out.routes = tally_.routes(duration);
    return out;
  }

  RequestProfile live_state(nanoseconds duration) {
    auto out = state(duration);
    if (watcher_.wants_requests && watcher_.wants_requests() && tally_.spans() <= kLiveSpans)
      add_requests(out);
    return out;
  }

  void add_requests(RequestProfile& out) const {
    out.requests =
        tally_.requests([this](TraceTime time) { return started_wall_ + (time - started_); });
    out.not_kept = tally_.not_kept();
  }

  RequestProfile answer() {
    auto out = state(duration_);
    add_requests(out);
    for (const auto& method : probes_ ? probes_->methods() : std::vector<collect::ProbedMethod>{}) {
      ++out.methods.chosen;
      if (method.state == wire::ProbeState::kRefused) {
        ++out.methods.refused;
        out.methods.not_measured.push_back(unmeasured(method));
      } else if (method.has_counter) {
        ++out.methods.instrumented;
      }
    }
    analyze::order_and_cut(out.methods.not_measured);
    out.notes = notes_;
    if (!alive_) out.notes.push_back("The process ended.");
    if (duration_ == nanoseconds{}) return out;  // stopped early: nothing was looked for
    if (out.seen == 0)
      out.notes.push_back(
          "No request began meanwhile. Check that the process is an ASP.NET Core app and that "
          "somebody calls it.");
    else if (probes_ && out.methods.chosen == 0)
      out.notes.push_back(fmt::format("No method matches {}: requests have no spans.",
                                      fmt::join(order_.include, ", ")));
    return out;
  }

  // What a fleet server may change.
  struct Order {
    std::vector<std::string> include{}, exclude{};
    SamplingOptions sampling{};
    bool operator==(const Order&) const = default;
  };
  Order own_order() const { return {request_.include, request_.exclude, request_.sampling}; }
  Order order_of(const CentralSettings& wanted) const {
    auto order = own_order();
    if (wanted.version == 0 || wanted.include.empty()) return order;
    order.include = wanted.include;
    order.exclude = wanted.exclude;
    order.sampling.probability = wanted.sample;
    order.sampling.budget_percent = wanted.budget_percent;
    return order;
  }
  bool follows() const { return uplink_ && request_.uplink->central; }

  const ProfileRequest& request_;
  const ProfileWatcher& watcher_;
  Target& target_;
  collect::AgentConnection& connection_;
  StopCondition stop_{.fds = request_.listen.stop_fds};
  Order order_;                // in force
  bool instrumented_ = false;  // by the order in force
  std::uint64_t configuration_ = 0;
  std::string trouble_;
  RequestTotals totals_;
  std::optional<collect::AgentArena> arena_;
  std::optional<collect::AgentProbes> probes_;  // nothing: beside another profiler
  std::optional<collect::AgentRequests> requests_;
  std::optional<collect::OuterThreads> threads_;
  collect::RequestAssembler assembler_{[this](std::uint32_t counter) {
    return probes_ ? probes_->name_of_counter(counter) : std::string{};
  }};
  collect::TickClock clock_;
  analyze::RequestTally tally_;
  std::unique_ptr<RequestFile> file_;
  std::optional<RequestUplink> uplink_;
  std::optional<RequestSamples> samples_;  // for the uplink
  uplink::Recording sent_;
  TraceTime last_sent_{};
  TraceTime started_{};
  WallTime started_wall_{};
  nanoseconds duration_{};
  bool alive_ = true;
  std::vector<std::string> notes_;
};

}  // namespace

Result<RequestProfile> profile_requests(const ProfileRequest& request,
                                        const ProfileWatcher& watcher) {
  if (request.include.empty())
    return fail(Errc::kUsage, "requests needs --include PATTERN")
        .hint("name the code of your app, such as Shop or 'Shop.*Async'");
  auto target = TRY(find_target(request.listen.target, std::chrono::seconds{5}, -1));
  auto loaded = TRY(load_agent(target));
  auto profile = Profiling{request, watcher, target, loaded.connection}.run();
  if (!profile && !loaded.already) {
    // Nothing was changed yet when the agent still can leave.
    (void)unload_agent(std::move(loaded.connection));
  }
  return profile;
}

Result<RequestProfile> recorded_requests(const std::string& path, const std::string& trace_id,
                                         const TraceLimits& limits) {
  analyze::RequestRecording recording{trace_id};
  (void)TRY(read_trace(path,
                       {.on_batch = [&](const auto& reader,
                                        const auto& batch) { recording.on_batch(reader, batch); },
                        .on_end = [&](const auto& reader) { recording.end_of_trace(reader); }},
                       {}, limits));
  return recording.profile();
}

Result<std::optional<double>> parse_probability(std::string_view text) {
  if (text == "auto") return std::optional<double>{};
  const bool percent = text.ends_with('%');
  const auto digits = percent ? text.substr(0, text.size() - 1) : text;
  double value = 0;
  const auto* end = digits.data() + digits.size();
  const auto [at, error] = std::from_chars(digits.data(), end, value);
  if (percent) value /= 100;
  if (digits.empty() || error != std::errc{} || at != end || !(value >= 0 && value <= 1))
    return fail(Errc::kUsage, "--sample must be auto, or between 0 and 1: {}", text)
        .hint("use --sample 0.1 or --sample 10%");
  return std::optional<double>{value};
}

}  // namespace clrscope::ops
