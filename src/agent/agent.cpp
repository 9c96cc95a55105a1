#include "agent/agent.h"

#include <pthread.h>

#include "agent/environment.h"
#include "agent/exceptions.h"
#include "agent/syscalls.h"

namespace clrscope::agent {
namespace {

constexpr int kPatienceMs = 3000;
constexpr int kEventPatienceMs = 4000;  // the first session compiles managed code
constexpr int kLongestGoodbyeMs = 1000;
constexpr std::uint64_t kTickNs = 90'000'000;
constexpr int kTickMs = 100;
constexpr int kCpuTickMs = 10;  // new threads are looked for
constexpr std::uint32_t kDetachWithinMs = 300;
constexpr long kWait = 128, kWake = 129;  // private futexes

void nap_1ms() { syscall_raw(number::kPoll, 0, 0, 1); }

// Nobody's signals but faults arrive on the threads of the agent.
class SignalsBlocked {
 public:
  SignalsBlocked() {
    constexpr std::uint64_t kFaults = (1ULL << 3) | (1ULL << 4) | (1ULL << 5) | (1ULL << 6) |
                                      (1ULL << 7) | (1ULL << 10);  // ILL TRAP ABRT BUS FPE SEGV
    const std::uint64_t all = ~kFaults;
    syscall_raw(number::kSigprocmask, 2, as_long(&all), as_long(&before_), sizeof all);
  }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;
  ~SignalsBlocked() { syscall_raw(number::kSigprocmask, 2, as_long(&before_), 0, sizeof before_); }

 private:
  std::uint64_t before_ = 0;
};

constexpr std::uint32_t kRuntimeMask =
    mask::kClassLoads | mask::kJitCompilation | mask::kThreads | mask::kSuspends;

// What the mask must hold for these sources. Unloads are watched as long as somebody listens, or
// the ids of methods could become those of others.
std::uint32_t mask_of(bool listening, std::uint32_t sources) {
  return mask::kStackSnapshot | (listening ? mask::kModuleLoads : 0) |
         ((sources & wire::kSourceExceptions) != 0 ? mask::kExceptions : 0) |
         ((sources & wire::kSourceRuntime) != 0 ? kRuntimeMask : 0);
}

constexpr std::uint32_t kEventSources =
    wire::kSourceContention | wire::kSourceAllocations | wire::kSourceSurvivors;
constexpr std::uint8_t kProviderInfo = 14;  // the version that can make an event provider
constexpr std::uint8_t kHeapInfo = 15;      // the version that can enumerate objects
constexpr int kHeapPatienceMs = 30'000;
constexpr std::uint32_t kListening = 0x8000'0000;  // beside the sources in the value of a job
constexpr std::uint32_t kHeapEvents = 0x4000'0000;

}  // namespace

bool Agent::take_interfaces(ComObject* runtime) {
  struct Version {
    const Guid* id;
    std::uint8_t number;
  };
  const Version versions[] = {{&kInfo15, 15}, {&kInfo14, 14}, {&kInfo13, 13}, {&kInfo12, 12}};
  for (const auto& version : versions) {
    ComObject* found = nullptr;
    if (call(runtime, info::kQueryInterface, version.id, &found) < 0 || !found) continue;
    runtime_ = found;
    info_version_ = version.number;
    std::uint16_t instance = 0, build = 0, fix = 0;
    std::uint32_t kind = 0, length = 0;
    (void)call(runtime_, info::kGetRuntimeInformation, &instance, &kind, &major_, &minor_, &build,
               &fix, std::uint32_t{0}, &length, static_cast<char16_t*>(nullptr));
    return true;
  }
  return false;
}

HResult Agent::start(ComObject* runtime, wire::Identity identity, const void* data,
                     std::uint32_t size) {
  if (is_switched_off()) return kCancelActivation;
  auto absent = State::kAbsent;
  for (int waited = 0; !state_.compare_exchange_strong(absent, State::kRunning); ++waited) {
    // Still loaded, or on its way out.
    if (waited == kLongestGoodbyeMs || absent == State::kRunning) return kCancelActivation;
    absent = State::kAbsent;
    nap_1ms();
  }
  const auto give_up = [&](HResult why) {
    if (runtime_) release(runtime_);
    runtime_ = nullptr;
    state_.store(State::kAbsent);
    return why;
  };
  wire::AttachData attach{};
  if (data) {
    if (!wire::is_attach_data(data, size)) return give_up(kCancelActivation);
    __builtin_memcpy(&attach, data, sizeof attach);
  } else if (!default_socket(attach.socket)) {
    return give_up(kCancelActivation);
  }
  mode_ = data ? wire::LoadMode::kAttached : wire::LoadMode::kAtStart;
  identity_ = identity;
  build_ = attach.build;
  pid_ = syscall_raw(number::kGetpid);
  ready_ = !data;
  sources_ = 0;
  worker_ = kIdle;
  listening_ = false;
  events_ = kIdle;
  events_on_ = 0;
  if (!take_interfaces(runtime)) return give_up(kUnsupportedRuntime);
  if (!recorder_.open() || !control_.open(attach.socket)) return give_up(kCancelActivation);
  if (!objects_.start(data ? 0 : start_features())) return give_up(kCancelActivation);
  const auto set = call(runtime_, info::kSetEventMask2, mask_of(false, 0) | objects_.mask(), 0);
  if (set < 0) {
    control_.close();
    return give_up(set);
  }
  if (!start_thread(Thread::kControl)) {
    control_.close();
    return give_up(kCancelActivation);
  }
  if (!start_thread(Thread::kWorker)) {
    state_.store(State::kLeaving);
    detach_completed();  // the control thread ends, and says that we are gone
    return kCancelActivation;
  }
  return kOk;
}

bool Agent::start_thread(Thread which) {
  const SignalsBlocked scope;
  const auto run_control = [](void* self) -> void* {
    static_cast<Agent*>(self)->control_thread();
    return nullptr;
  };
  const auto run_worker = [](void* self) -> void* {
    static_cast<Agent*>(self)->worker_thread();
    return nullptr;
  };
  const auto run_events = [](void* self) -> void* {
    static_cast<Agent*>(self)->event_thread();
    return nullptr;
  };
  pthread_t thread{};
  void* (*body)(void*) = run_control;
  if (which == Thread::kWorker) body = run_worker;
  if (which == Thread::kEvents) body = run_events;
  return pthread_create(&thread, nullptr, body, this) == 0 && pthread_detach(thread) == 0;
}

void Agent::detach_completed() {
  // The worker is the one that asked for it: it has returned from that call, or is about to.
  for (int waited = 0; waited < kLongestGoodbyeMs; ++waited) {
    const auto worker = worker_.load(std::memory_order_acquire);
    if (worker != kPosted && worker != kWorking) break;
    nap_1ms();
  }
  if (runtime_) release(runtime_);
  runtime_ = nullptr;
  control_.stop();
}

void Agent::shut_down() {
  if (state_.load() == State::kRunning && pid_ == syscall_raw(number::kGetpid))
    objects_.write(runtime_, recorder_, Objects::When::kNow);
  sources_.store(0, std::memory_order_release);
  // A forked child that ends must not remove what its parent still uses.
  if (state_.load() != State::kAbsent && pid_ == syscall_raw(number::kGetpid))
    control_.remove_files();
}

// --- callbacks, on the threads of the app ---

void Agent::exception_thrown(Id object) {
  recorder_.enter();
  const auto begin = read_tsc();
  if ((sources_.load(std::memory_order_acquire) & wire::kSourceExceptions) != 0)
    on_exception_thrown(runtime_, recorder_, object);
  recorder_.leave(read_tsc() - begin, wire::Spender::kExceptions);
}

void Agent::exception_caught(Id function) {
  recorder_.enter();
  const auto begin = read_tsc();
  if ((sources_.load(std::memory_order_acquire) & wire::kSourceExceptions) != 0)
    on_exception_caught(runtime_, recorder_, own_events_, function);
  recorder_.leave(read_tsc() - begin, wire::Spender::kExceptions);
}

void Agent::event_delivered(const DeliveredEvent& event) {
  if (heap_.listens()) heap_.on_event(event);
  recorder_.enter();
  const auto begin = read_tsc();
  const auto sources = sources_.load(std::memory_order_acquire);
  if ((sources & kEventSources) != 0) on_event(runtime_, recorder_, survivors_, sources, event);
  recorder_.leave(read_tsc() - begin, spender_of(event, sources));
}

void Agent::unloading(Id owner) {
  snapshot_.on_unload();
  heap_.on_unload();
  if (runtime_) objects_.on_unload(runtime_, recorder_, owner);
  recorder_.forget(owner);
}

void Agent::collection_started(const Collected& collected) {
  if ((sources_.load(std::memory_order_acquire) & wire::kSourceSurvivors) == 0) return;
  recorder_.enter();
  const auto begin = read_tsc();
  survivors_.collection_started(runtime_, collected);
  recorder_.leave(read_tsc() - begin, wire::Spender::kSurvivors);
}

void Agent::collection_finished() {
  if ((sources_.load(std::memory_order_acquire) & wire::kSourceSurvivors) == 0) return;
  recorder_.enter();
  const auto begin = read_tsc();
  survivors_.collection_finished(runtime_, recorder_, own_events_);
  recorder_.leave(read_tsc() - begin, wire::Spender::kSurvivors);
}

// --- worker thread ---

HResult Agent::run_job(Job job, std::uint32_t value) {
  switch (job) {
    case Job::kSetMask: {
      const bool listening = (value & kListening) != 0;
      const auto high =
          (listening ? mask::kHighDynamicUnloads : 0) |
          ((value & (kEventSources | kHeapEvents)) != 0 ? mask::kHighEventPipe : 0) |
          ((value & (wire::kSourceSurvivors | wire::kSourceRuntime)) != 0 ? mask::kHighBasicGc : 0);
      if ((value & wire::kSourceSurvivors) == 0) survivors_.release(runtime_);
      return call(runtime_, info::kSetEventMask2,
                  mask_of(listening, value) | rejit_.mask() | objects_.mask(), high);
    }
    case Job::kSnapshot:
      return snapshot_.take(runtime_, recorder_, own_events_);
    case Job::kProbes:
      return rejit_.apply(runtime_);
    case Job::kProbesRevert:
      return rejit_.revert(runtime_);
    case Job::kProbesTick:
      return rejit_.tick(runtime_, monotonic_ns()), kOk;
    case Job::kHeap:
      return heap_.walk(runtime_, recorder_, (value & wire::kHeapReferences) != 0);
    case Job::kHeapWrite:
      return heap_.write(runtime_, recorder_), kOk;
    case Job::kObjects:
      return objects_.write(runtime_, recorder_, static_cast<Objects::When>(value)), kOk;
    case Job::kDetach:
      survivors_.release(runtime_);
      (void)call(runtime_, info::kSetEventMask2, std::uint32_t{0}, std::uint32_t{0});
      return call(runtime_, info::kRequestProfilerDetach, kDetachWithinMs);
  }
  return kFail;
}

void Agent::worker_thread() {
  for (;;) {
    std::uint32_t seen = worker_.load(std::memory_order_acquire);
    if (seen != kPosted) {
      syscall_raw(number::kFutex, as_long(&worker_), kWait, static_cast<long>(seen));
      continue;
    }
    worker_.store(kWorking, std::memory_order_release);
    const auto result = run_job(job_, job_value_);
    const bool last = job_ == Job::kDetach && result >= 0;
    job_result_ = result;
    // After a detach nothing of the agent may be touched any more but this word.
    worker_.store(kFinished, std::memory_order_release);
    syscall_raw(number::kFutex, as_long(&worker_), kWake, 1);
    if (last) return;
  }
}

// --- control thread ---

wire::Outcome Agent::post(Job job, std::uint32_t value) {
  const auto state = worker_.load(std::memory_order_acquire);
  if (state == kPosted || state == kWorking) return wire::Outcome::kTimeout;
  job_ = job;
  job_value_ = value;
  worker_.store(kPosted, std::memory_order_release);
  syscall_raw(number::kFutex, as_long(&worker_), kWake, 1);
  return wire::Outcome::kDone;
}

wire::Outcome Agent::perform(Job job, std::uint32_t value, int patience_ms) {
  auto state = worker_.load(std::memory_order_acquire);
  // A look at the probes or objects is short; it may have begun by itself.
  for (int waited = 0; (job_ == Job::kProbesTick || job_ == Job::kObjects) &&
                       (state == kPosted || state == kWorking) && waited < patience_ms;
       ++waited) {
    nap_1ms();
    state = worker_.load(std::memory_order_acquire);
  }
  if (const auto posted = post(job, value); posted != wire::Outcome::kDone) return posted;
  const auto end = monotonic_ns() + static_cast<std::uint64_t>(patience_ms) * 1'000'000;
  while ((state = worker_.load(std::memory_order_acquire)) != kFinished) {
    const auto now = monotonic_ns();
    if (now >= end) return wire::Outcome::kTimeout;
    const KernelTime left{static_cast<std::int64_t>((end - now) / 1'000'000'000),
                          static_cast<std::int64_t>((end - now) % 1'000'000'000)};
    syscall_raw(number::kFutex, as_long(&worker_), kWait, static_cast<long>(state), as_long(&left));
  }
  if (job_result_ >= 0) return wire::Outcome::kDone;
  last_refusal_.store(job_result_);
  return wire::Outcome::kRefused;
}

wire::Outcome Agent::open_arena() {
  // A callback of the last listener may still be running.
  for (int waited = 0; !recorder_.reset(); ++waited) {
    if (waited == kLongestGoodbyeMs) return wire::Outcome::kBusy;
    nap_1ms();
  }
  on_tick();
  const auto outcome = perform(Job::kSetMask, kListening, kPatienceMs);
  listening_ = outcome == wire::Outcome::kDone;
  if (listening_) (void)switch_events(0);  // makes the provider of the agent's own events
  return outcome;
}

// Off at once; on when the runtime has agreed.
wire::Outcome Agent::switch_sources(std::uint32_t sources, std::uint32_t rate) {
  const auto were = sources_.load();
  sources_.store(were & sources, std::memory_order_release);
  if ((sources & wire::kSourceCpu) == 0) cpu_.stop();
  // Objects of an earlier time were not followed meanwhile.
  if ((sources & ~were & wire::kSourceSurvivors) != 0 && !survivors_.reset())
    return wire::Outcome::kUnsupported;
  if ((sources & ~were & wire::kSourceRuntime) != 0) happenings_.reset();
  if ((sources & wire::kSourceObjects) != 0 && objects_.features() == 0)
    return wire::Outcome::kUnsupported;
  if ((were & ~sources & wire::kSourceObjects) != 0)
    (void)perform(Job::kObjects, static_cast<std::uint32_t>(Objects::When::kNow), kPatienceMs);
  // Events need their bit in the mask before the session begins, and until it has ended.
  const auto before = perform(Job::kSetMask, kListening | sources | events_on_, kPatienceMs);
  if (before != wire::Outcome::kDone) return before;
  sources_.store(sources, std::memory_order_release);
  if (const auto events = switch_events(sources & kEventSources); events != wire::Outcome::kDone)
    return events;
  if ((sources & wire::kSourceCpu) == 0 || cpu_.start(recorder_, rate)) return wire::Outcome::kDone;
  sources_.store(sources & ~wire::kSourceCpu, std::memory_order_release);
  return wire::Outcome::kUnsupported;
}

wire::Outcome Agent::switch_events(std::uint32_t sources) {
  if (events_.load(std::memory_order_acquire) == kWorking) return wire::Outcome::kTimeout;
  if (sources == events_on_ && !events_heap_ &&
      (own_events_.tried() || info_version_ < kProviderInfo))
    return wire::Outcome::kDone;
  events_wanted_ = sources;
  events_.store(kWorking, std::memory_order_release);
  if (!start_thread(Thread::kEvents)) {
    events_.store(kIdle, std::memory_order_release);
    return wire::Outcome::kRefused;
  }
  const auto patience = events_heap_ ? kHeapPatienceMs : kEventPatienceMs;
  for (int waited = 0; events_.load(std::memory_order_acquire) == kWorking; ++waited) {
    if (waited == patience) return wire::Outcome::kTimeout;
    nap_1ms();
    on_tick();
  }
  if (events_result_ >= 0) return wire::Outcome::kDone;
  last_refusal_.store(events_result_);
  return wire::Outcome::kRefused;
}

void Agent::event_thread() {
  HResult result = kOk;
  if (info_version_ >= kProviderInfo) (void)own_events_.create(runtime_);
  if (events_heap_) {
    events_result_ = heap_.walk_by_events(runtime_);
    events_.store(kFinished, std::memory_order_release);
    return;
  }
  if (events_on_ != 0) {
    result = stop_events(runtime_, session_);
    events_on_ = 0;
  }
  if (result >= 0 && events_wanted_ != 0) {
    result = start_events(runtime_, event_config(events_wanted_, major_), session_);
    if (result >= 0) events_on_ = events_wanted_;
  }
  events_result_ = result;
  events_.store(kFinished, std::memory_order_release);
}

wire::Outcome Agent::on_request(const wire::Request& request, bool listens) {
  if (request.kind == wire::RequestKind::kHello) return wire::Outcome::kDone;
  if (state_.load() != State::kRunning) return wire::Outcome::kLeaving;
  if (!ready_.load(std::memory_order_acquire)) return wire::Outcome::kBusy;
  switch (request.kind) {
    case wire::RequestKind::kOpen:
      return open_arena();
    case wire::RequestKind::kSwitch: {
      if (!listens) return wire::Outcome::kNotOpen;
      const auto sources = request.value & wire::kSourceBits;
      if ((sources & ~wire::kAllSources) != 0) return wire::Outcome::kUnsupported;
      return switch_sources(sources, request.value >> wire::kRateShift);
    }
    case wire::RequestKind::kSnapshot: {
      if (!listens) return wire::Outcome::kNotOpen;
      const auto outcome = perform(Job::kSnapshot, 0, kPatienceMs);
      if (outcome == wire::Outcome::kDone) ++snapshots_;
      return outcome;
    }
    case wire::RequestKind::kHeap:
      return listens ? on_heap(request.value) : wire::Outcome::kNotOpen;
    case wire::RequestKind::kProbesOpen:
    case wire::RequestKind::kProbesApply:
    case wire::RequestKind::kProbesRevert:
      return listens ? on_probes(request.kind) : wire::Outcome::kNotOpen;
    case wire::RequestKind::kRequestsOpen:
    case wire::RequestKind::kRequestsStart:
    case wire::RequestKind::kRequestsStop:
    case wire::RequestKind::kRequestsFinish:
      return listens ? on_requests(request.kind) : wire::Outcome::kNotOpen;
    case wire::RequestKind::kDetach: {
      if (rejit_.is_enabled()) {
        last_refusal_.store(kIrreversible);
        return wire::Outcome::kRefused;
      }
      sources_.store(0, std::memory_order_release);
      cpu_.stop();
      // A session that stays would call into a profiler that is gone.
      if (const auto stopped = switch_events(0); stopped != wire::Outcome::kDone) return stopped;
      const auto outcome = perform(Job::kDetach, 0, kPatienceMs);
      if (outcome == wire::Outcome::kDone) state_.store(State::kLeaving);
      return outcome;
    }
    default:
      return wire::Outcome::kUnsupported;
  }
}

// The newer runtimes enumerate the objects; .NET 8 tells them as events, on an event thread.
wire::Outcome Agent::on_heap(std::uint32_t options) {
  if (info_version_ >= kHeapInfo) return perform(Job::kHeap, options, kHeapPatienceMs);
  if ((options & wire::kHeapReferences) != 0) return wire::Outcome::kUnsupported;
  const auto sources = kListening | sources_.load();
  const auto before = perform(Job::kSetMask, sources | kHeapEvents, kPatienceMs);
  if (before != wire::Outcome::kDone) return before;
  events_heap_ = true;
  const auto outcome = switch_events(events_on_);
  events_heap_ = false;  // the thread has read it long ago
  (void)perform(Job::kSetMask, sources, kPatienceMs);
  return outcome == wire::Outcome::kDone ? perform(Job::kHeapWrite, 0, kHeapPatienceMs) : outcome;
}

void Agent::on_listener_gone() {
  sources_.store(0, std::memory_order_release);
  cpu_.stop();
  listening_ = false;
  requests_.stop();
  rejit_.cancel();
  if (state_.load() != State::kRunning) return;
  (void)switch_events(0);
  (void)perform(Job::kSetMask, 0, kPatienceMs);
  if (rejit_.is_active()) (void)post(Job::kProbesRevert, 0);  // unless apply() does it by itself
}

wire::Outcome Agent::on_probes(wire::RequestKind kind) {
  if (identity_ != wire::Identity::kMain) return wire::Outcome::kUnsupported;
  if (!rejit_.open()) return wire::Outcome::kRefused;
  if (kind == wire::RequestKind::kProbesOpen) return wire::Outcome::kDone;
  const bool applies = kind == wire::RequestKind::kProbesApply;
  if (!applies) rejit_.cancel();  // one that is being applied takes back what it has done
  for (int waited = 0; waited < kPatienceMs; ++waited) {
    const auto state = worker_.load(std::memory_order_acquire);
    if (state != kPosted && state != kWorking) {
      rejit_.announce();
      return post(applies ? Job::kProbes : Job::kProbesRevert, 0);
    }
    nap_1ms();
  }
  return wire::Outcome::kTimeout;
}

// Also beside another profiler: then no method has probes, and requests have no spans.
wire::Outcome Agent::on_requests(wire::RequestKind kind) {
  if (!rejit_.open() || !requests_.open()) return wire::Outcome::kRefused;
  if (kind == wire::RequestKind::kRequestsStop) requests_.stop();
  if (kind == wire::RequestKind::kRequestsFinish) requests_.finish();
  if (kind == wire::RequestKind::kRequestsStart && !requests_.start())
    return wire::Outcome::kRefused;
  return wire::Outcome::kDone;
}

std::uint8_t Agent::status_flags() const {
  return static_cast<std::uint8_t>((state_.load() == State::kLeaving ? wire::kLeavingFlag : 0) |
                                   (rejit_.is_enabled() ? wire::kResidentFlag : 0));
}

void Agent::on_tick() {
  const auto now = monotonic_ns();
  cpu_.look(now);
  if (now - last_tick_ < kTickNs) return;
  last_tick_ = now;
  recorder_.tick(read_tsc(), now);
  requests_.tick(now);
  if (rejit_.is_active()) (void)post(Job::kProbesTick, 0);
  if ((sources_.load() & wire::kSourceObjects) != 0)
    (void)post(Job::kObjects, static_cast<std::uint32_t>(Objects::When::kTick));
}

void Agent::fill(wire::Status& status) const {
  status = {.build = build_,
            .pid = static_cast<std::uint32_t>(syscall_raw(number::kGetpid)),
            .sources = sources_.load() | (rejit_.is_applied() ? wire::kSourceMethods : 0U),
            .mode = mode_,
            .identity = identity_,
            .info = info_version_,
            .flags = status_flags(),
            .runtime_major = major_,
            .runtime_minor = minor_,
            .hresult = last_refusal_.load(),
            .connections = 0,
            .snapshots = snapshots_,
            .bad_requests = 0,
            .refused_peers = 0};
}

void Agent::control_thread() {
  const ControlHandler handler{
      .self = this,
      .on_request =
          [](void* self, const wire::Request& request, bool listens) {
            return static_cast<Agent*>(self)->on_request(request, listens);
          },
      .on_listener_gone = [](void* self) { static_cast<Agent*>(self)->on_listener_gone(); },
      .on_tick = [](void* self) { static_cast<Agent*>(self)->on_tick(); },
      .fill = [](void* self,
                 wire::Status& status) { static_cast<const Agent*>(self)->fill(status); },
      .passed_fd =
          [](void* self, wire::RequestKind kind) {
            auto& agent = *static_cast<Agent*>(self);
            if (kind == wire::RequestKind::kProbesOpen) return agent.rejit_.fd();
            if (kind == wire::RequestKind::kRequestsOpen) return agent.requests_.fd();
            return kind == wire::RequestKind::kOpen ? agent.recorder_.fd() : -1;
          },
      .tick_ms =
          [](void* self) {
            return static_cast<const Agent*>(self)->cpu_.running() ? kCpuTickMs : kTickMs;
          }};
  control_.run(handler);
  state_.store(State::kAbsent);
}

}  // namespace clrscope::agent
