#include "collect/machine/runtime_finder.h"

#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>

#include "base/proc.h"
#include "ipc/session_limit.h"
#include "model/provider_names.h"

namespace clrscope::collect {
namespace {

constexpr std::chrono::seconds kPatience{2};  // with one runtime
constexpr std::chrono::seconds kAgain{1};     // for processes that start meanwhile

constexpr std::chrono::seconds kStartUp{5};  // from loading a runtime to its listening
constexpr std::chrono::milliseconds kSoon{20};
// A runtime that is still starting (or held by another tool at its start) keeps requests for later,
// and .NET 10 then ends the other tool's session instead of ours.
constexpr std::chrono::milliseconds kSettled{500};

}  // namespace

RuntimeFinder::RuntimeFinder(Options options)
    : options_(std::move(options)), worker_([this](const std::stop_token& stop) { run(stop); }) {}

RuntimeFinder::~RuntimeFinder() {
  stop();
  for (auto& one : take().opened) {
    const auto id = one.session.id;
    one.session = {};  // nobody reads what it would still tell
    (void)ipc::stop_tracing(*one.runtime, id, kPatience);
  }
}

RuntimeFinder::Found RuntimeFinder::take() {
  return state_.with([](State& state) { return std::exchange(state.found, {}); });
}

bool RuntimeFinder::looked_once() const {
  return busy_ == 0 && state_.with([](const State& state) { return state.looked_once; });
}

void RuntimeFinder::stop() { worker_ = {}; }

void RuntimeFinder::run(const std::stop_token& stop) {
  (void)::setpriority(PRIO_PROCESS, static_cast<id_t>(::syscall(SYS_gettid)), 0);  // not urgent
  do {
    refresh(stop);
    state_.with([](State& state) { state.looked_once = true; });
    await_next_look(stop);
  } while (!stop.stop_requested());
  begun_.clear();
}

void RuntimeFinder::expect(pid_t process) {
  if (options_.all) (void)requests_.try_push({.process = process});
}

void RuntimeFinder::count(pid_t process) {
  (void)requests_.try_push({.process = process, .what = Request::What::kCounts});
}

void RuntimeFinder::settle(pid_t process) {
  (void)requests_.try_push({.process = process, .what = Request::What::kSettle});
}

void RuntimeFinder::take(const Request& request) {
  switch (request.what) {
    case Request::What::kStarts:
      return starting_.push_back({request.process, TraceClock::now() + kStartUp});
    case Request::What::kCounts:
      return begin([this, process = request.process] { open_counts(process); });
    case Request::What::kSettle:
      return begin([process = request.process] { settle_now(process); });
  }
}

void RuntimeFinder::await_next_look(const std::stop_token& stop) {
  const auto next = TraceClock::now() + kAgain;
  for (auto now = TraceClock::now(); now < next && !stop.stop_requested();
       now = TraceClock::now()) {
    const auto patience = starting_.empty() ? next - now : std::chrono::nanoseconds{kSoon};
    if (const auto request = requests_.pop_for(stop, patience)) take(*request);
    open_started(stop);
  }
}

// Those that start come first: they may end soon.
void RuntimeFinder::open_started(const std::stop_token& stop) {
  while (const auto request = requests_.pop_for(stop, std::chrono::nanoseconds{0})) take(*request);
  const auto now = TraceClock::now();
  std::erase_if(starting_, [&](const Starting& one) {
    if (now > one.until || !process_exists(one.process)) return true;
    const auto process = ipc::find_process(one.process);
    if (!process || !process->reachable() || process->status.age < kSettled) return false;
    open_new(*process);
    return true;
  });
}

void RuntimeFinder::refresh(const std::stop_token& stop) {
  if (!options_.all) {
    for (const auto pid : std::exchange(options_.processes, {}))
      if (auto process = ipc::find_process(pid)) open_new(std::move(*process));
    return;
  }
  auto found = ipc::find_processes();
  if (!found) return;
  open_started(stop);
  for (auto& process : *found)
    if (process.status.age >= kSettled) open_new(std::move(process));
}

// On a thread of its own: one that does not answer delays nobody.
void RuntimeFinder::begin(std::function<void()> work) {
  std::erase_if(begun_, [](const Begun& one) { return one.done->load(); });
  auto done = std::make_shared<std::atomic<bool>>(false);
  ++busy_;
  begun_.push_back({done, std::jthread{[this, done, work = std::move(work)] {
                      work();
                      --busy_;
                      *done = true;
                    }}});
}

void RuntimeFinder::open_new(ipc::DotnetProcess process) {
  if (is_new(process)) begin([this, process = std::move(process)] { open(process); });
}

bool RuntimeFinder::is_new(const ipc::DotnetProcess& process) {
  return process.reachable() && process.status.state != 'T' &&
         known_.emplace(process.pid, process.status.start_ticks).second;
}

void RuntimeFinder::open(const ipc::DotnetProcess& process) {
  std::vector<OpenedRuntime> all;
  for (const auto& events : options_.sessions) {
    const bool first = &events == options_.sessions.data();
    auto opened = open_session(process, events,
                               first ? OpenedRuntime::Role::kNames : OpenedRuntime::Role::kEvents);
    if (opened) {
      all.push_back(std::move(*opened));
      continue;
    }
    if (!process_exists(process.pid)) return;
    auto note = fmt::format("no {} of process {} ({}): {}",
                            events.what.empty() ? ".NET events" : events.what, process.pid,
                            process.name, opened.error().what);
    state_.with([&](State& state) {
      state.found.notes.push_back(std::move(note));
      if (ipc::is_session_limit(opened.error())) state.found.full = opened.error();
    });
    if (first) return;
  }
  // Last: the runtime answers nobody else while it tells its names.
  if (options_.early_names && !all.empty())
    if (auto early = EarlyRundown::start(*all.front().runtime, process.pid, *options_.early_names))
      all.front().early = std::move(*early);
  state_.with(
      [&](State& state) { std::ranges::move(all, std::back_inserter(state.found.opened)); });
}

Result<OpenedRuntime> RuntimeFinder::open_session(const ipc::DotnetProcess& process,
                                                  const RuntimeEvents& events,
                                                  OpenedRuntime::Role role) {
  OpenedRuntime opened{.pid = process.pid,
                       .role = role,
                       .what = events.what,
                       .while_cheap = events.while_cheap,
                       .runtime = ipc::connect_endpoint(process.socket, process.pid)};
  auto started = TRY(start_filtered(*opened.runtime, events.session, kPatience));
  opened.session = std::move(started.session);
  opened.filter = std::move(started.filter);
  return opened;
}

void RuntimeFinder::open_counts(pid_t pid) {
  const auto process = ipc::find_process(pid);
  if (!process || !process->reachable()) return;
  const RuntimeEvents counters{
      .session = {.buffer_mb = 8,
                  .rundown_keyword = 0,
                  .providers = {{.name = std::string{kSystemRuntimeProvider},
                                 .keywords = 0,
                                 .level = ipc::Level::kInformational,
                                 .arguments = "EventCounterIntervalSec=1"}}}};
  auto opened = open_session(*process, counters, OpenedRuntime::Role::kCounts);
  if (opened)
    return state_.with([&](State& state) { state.found.opened.push_back(std::move(*opened)); });
  if (!process_exists(pid)) return;
  auto note = fmt::format("process {} ({}) is no longer counted: {}", pid, process->name,
                          opened.error().what);
  state_.with([&](State& state) { state.found.notes.push_back(std::move(note)); });
}

// When a session ends, the runtime still counts it among those that want events, and goes on
// preparing them for nobody (the text of each exception, say) until the next one begins or ends.
void RuntimeFinder::settle_now(pid_t pid) {
  const auto process = ipc::find_process(pid);
  if (!process || !process->reachable()) return;
  const auto runtime = ipc::connect_endpoint(process->socket, pid);
  const ipc::SessionConfig nothing{
      .buffer_mb = 1,
      .rundown_keyword = 0,
      .providers = {{.name = std::string{kRuntimeProvider},
                     .keywords = 0x8,  // those of loading, of which none is critical
                     .level = ipc::Level::kCritical}}};
  auto session = ipc::start_tracing(*runtime, nothing, kPatience);
  if (session) (void)ipc::stop_tracing(*runtime, session->id, kPatience);
}

}  // namespace clrscope::collect
