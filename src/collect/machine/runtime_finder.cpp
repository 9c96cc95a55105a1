#include "collect/machine/runtime_finder.h"

#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/proc.h"
#include "ipc/session_limit.h"

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

RuntimeFinder::RuntimeFinder(Wish wish)
    : wish_(std::move(wish)), worker_([this](const std::stop_token& stop) { run(stop); }) {}

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
  return state_.with([](const State& state) { return state.looked_once; });
}

void RuntimeFinder::stop() { worker_ = {}; }

void RuntimeFinder::run(const std::stop_token& stop) {
  (void)::setpriority(PRIO_PROCESS, static_cast<id_t>(::syscall(SYS_gettid)), 0);  // not urgent
  do {
    look(stop);
    state_.with([](State& state) { state.looked_once = true; });
    if (wish_.all) await_next_look(stop);
  } while (wish_.all && !stop.stop_requested());
}

void RuntimeFinder::expect(pid_t process) { (void)expected_.try_push(process); }

void RuntimeFinder::await_next_look(const std::stop_token& stop) {
  const auto next = TraceClock::now() + kAgain;
  for (auto now = TraceClock::now(); now < next && !stop.stop_requested();
       now = TraceClock::now()) {
    const auto patience = starting_.empty() ? next - now : std::chrono::nanoseconds{kSoon};
    if (const auto process = expected_.pop_for(stop, patience))
      starting_.push_back({*process, TraceClock::now() + kStartUp});
    open_started(stop);
  }
}

// Those that start come first: they may end soon.
void RuntimeFinder::open_started(const std::stop_token& stop) {
  while (const auto process = expected_.pop_for(stop, std::chrono::nanoseconds{0}))
    starting_.push_back({*process, TraceClock::now() + kStartUp});
  const auto now = TraceClock::now();
  std::erase_if(starting_, [&](const Starting& one) {
    if (now > one.until || !process_exists(one.process)) return true;
    const auto process = ipc::find_process(one.process);
    if (!process || !process->reachable() || process->status.age < kSettled) return false;
    open(*process);
    return true;
  });
}

void RuntimeFinder::look(const std::stop_token& stop) {
  if (!wish_.all) {
    for (const auto pid : wish_.processes)
      if (const auto process = ipc::find_process(pid)) open(*process);
    return;
  }
  const auto found = ipc::find_processes();
  if (!found) return;
  for (const auto& process : *found) {
    if (stop.stop_requested()) return;
    open_started(stop);
    if (process.status.age >= kSettled) open(process);
  }
}

void RuntimeFinder::open(const ipc::DotnetProcess& process) {
  if (!process.reachable() || process.status.state == 'T' ||
      !known_.emplace(process.pid, process.status.start_ticks).second)
    return;
  OpenedRuntime opened{.pid = process.pid,
                       .runtime = ipc::connect_endpoint(process.socket, process.pid)};
  auto session = ipc::start_tracing(*opened.runtime, wish_.session, kPatience);
  if (!session) {
    if (!process_exists(process.pid)) return;
    auto note = fmt::format("no .NET events of process {} ({}): {}", process.pid, process.name,
                            session.error().what);
    state_.with([&](State& state) {
      state.found.notes.push_back(std::move(note));
      if (ipc::is_session_limit(session.error())) state.found.full = session.error();
    });
    return;
  }
  opened.session = std::move(*session);
  if (auto early = EarlyRundown::start(*opened.runtime, process.pid))
    opened.early = std::move(*early);
  state_.with([&](State& state) { state.found.opened.push_back(std::move(opened)); });
}

}  // namespace clrscope::collect
