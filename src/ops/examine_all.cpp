#include "ops/examine_all.h"

#include <poll.h>

#include <algorithm>
#include <thread>

#include "base/clock.h"
#include "base/guarded.h"
#include "base/json.h"
#include "ops/processes.h"

namespace clrscope::ops {
namespace {

bool is_readable(std::span<const int> fds) {
  std::vector<pollfd> polled;
  for (const int fd : fds) polled.push_back({.fd = fd, .events = POLLIN, .revents = 0});
  return ::poll(polled.data(), polled.size(), 0) > 0;
}

// What ranks a process: its worst finding, how sure that is, and how many are as bad.
std::tuple<int, int, std::ptrdiff_t> rank_of(const doctor::Examination& one) {
  const auto& reports = one.diagnosis.reports;
  if (reports.empty()) return {-1, 0, 0};
  const auto& worst = reports.front();
  return {static_cast<int>(worst.severity), static_cast<int>(worst.confidence),
          std::ranges::count(reports, worst.severity, &doctor::Report::severity)};
}

class Ward {
 public:
  Ward(const RoundWish& wish, std::vector<Process> processes,
       const std::function<void(const RoundStatus&)>& on_status)
      : wish_(wish), processes_(std::move(processes)), on_status_(on_status) {
    state_.with([&](State& state) { state.status.processes = processes_.size(); });
  }

  Round go() {
    const auto start = TraceClock::now();
    {
      std::vector<std::jthread> workers;
      for (std::size_t i = 0; i < std::min(wish_.at_once, processes_.size()); ++i)
        workers.emplace_back([this] { work(); });
    }
    return state_.with([&](State& state) {
      state.round.took = TraceClock::now() - start;
      std::ranges::stable_sort(state.round.examined, std::greater{}, rank_of);
      return std::move(state.round);
    });
  }

 private:
  struct State {
    std::size_t next = 0;
    RoundStatus status{};
    Round round{};
  };

  void work() {
    while (const auto* process = take()) {
      auto wish = wish_.each;
      wish.target = {.pid = process->pid};
      if (!wish.duration) wish.duration = RoundWish::kEach;
      auto result = examine(wish, {});
      state_.with([&](State& state) {
        --state.status.running;
        ++state.status.examined;
        if (result)
          state.round.examined.push_back(*std::move(result));
        else
          skip(state, *process, result.error().what);
        tell(state);
      });
    }
  }

  const Process* take() {
    return state_.with([&](State& state) -> const Process* {
      while (state.next < processes_.size()) {
        const auto& process = processes_[state.next++];
        if (!process.reachable())
          skip(state, process, process.reason);
        else if (is_readable(wish_.each.stop_fds))
          skip(state, process, "stopped before it was examined");
        else if (end_.passed())
          skip(state, process, "the time for all of them was over");
        else {
          ++state.status.running;
          tell(state);
          return &process;
        }
      }
      return nullptr;
    });
  }

  static void skip(State& state, const Process& process, std::string reason) {
    state.round.skipped.push_back({process.pid, process.name, std::move(reason)});
  }
  void tell(const State& state) const {
    if (on_status_) on_status_(state.status);
  }

  const RoundWish& wish_;
  const std::vector<Process> processes_;
  const std::function<void(const RoundStatus&)>& on_status_;
  const Deadline end_{wish_.longest};
  Guarded<State> state_;
};

}  // namespace

bool Round::has(doctor::Severity at_least) const {
  return std::ranges::any_of(examined,
                             [&](const auto& one) { return one.diagnosis.has(at_least); });
}

std::string Round::json() const {
  JsonWriter head;
  head.begin_object()
      .member("tookMs", std::chrono::duration<double, std::milli>(took).count())
      .key("skipped")
      .begin_array();
  for (const auto& one : skipped)
    head.begin_object()
        .member("pid", one.pid)
        .member("name", one.name)
        .member("reason", one.reason)
        .end_object();
  head.end_array().key("processes").begin_array();
  auto out = head.text();
  for (std::size_t i = 0; i < examined.size(); ++i) {
    if (i != 0) out += ',';
    out += doctor::to_json(examined[i]);
    while (out.ends_with('\n')) out.pop_back();
  }
  return out + "]}\n";
}

Result<Round> examine_all(const RoundWish& wish,
                          const std::function<void(const RoundStatus&)>& on_status) {
  TRY(doctor::select(wish.each.only, wish.each.settings));  // a wrong one is no process's fault
  auto processes = TRY(list_processes());
  if (processes.empty())
    return fail(Errc::kNotFound, "there is no .NET process on this machine")
        .hint("clrscope ps lists those that can be seen");
  return Ward{wish, std::move(processes), on_status}.go();
}

}  // namespace clrscope::ops
