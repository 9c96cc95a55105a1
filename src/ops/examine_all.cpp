#include "ops/examine_all.h"

#include <poll.h>

#include <algorithm>
#include <thread>

#include "base/clock.h"
#include "base/guarded.h"
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
  Ward(const RoundRequest& request, std::vector<Process> processes,
       const std::function<void(const RoundStatus&)>& on_status)
      : request_(request), processes_(std::move(processes)), on_status_(on_status) {
    state_.with([&](State& state) { state.status.processes = processes_.size(); });
  }

  Round go() {
    const auto start = TraceClock::now();
    {
      std::vector<std::jthread> workers;
      for (std::size_t i = 0; i < std::min(request_.at_once, processes_.size()); ++i)
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
      auto request = request_.each;
      request.target = {.pid = process->pid};
      if (!request.duration) request.duration = RoundRequest::kEach;
      auto result = examine(request, {});
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
        else if (is_readable(request_.each.stop_fds))
          skip(state, process, "stopped before it was examined");
        else if (end_.passed())
          skip(state, process, "the time limit for all processes was reached");
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

  const RoundRequest& request_;
  const std::vector<Process> processes_;
  const std::function<void(const RoundStatus&)>& on_status_;
  const Deadline end_{request_.longest};
  Guarded<State> state_;
};

}  // namespace

bool Round::has(doctor::Severity at_least) const {
  return std::ranges::any_of(examined,
                             [&](const auto& one) { return one.diagnosis.has(at_least); });
}

RoundAnswer answer_of(const Round& round) {
  RoundAnswer answer{.duration = round.took, .skipped = round.skipped};
  for (const auto& one : round.examined) answer.processes.push_back(answer_of(one));
  return answer;
}

const Shape& shape_of(const Round::Skipped*) {
  using T = Round::Skipped;
  static const auto shape = clrscope::describe<T>(
      "SkippedProcess", "a process that was not examined",
      {member<&T::pid>("pid", "process id"), member<&T::name>("name", "process name"),
       member<&T::reason>("reason", "why it was not examined")});
  return shape;
}

const Shape& shape_of(const RoundAnswer*) {
  using T = RoundAnswer;
  static const auto shape = clrscope::describe<T>(
      "Examinations", "examinations of all .NET processes, the worst finding first",
      {member<&T::duration>("durationMs", "duration of all examinations together"),
       member<&T::skipped>("skipped", "processes that were not examined"),
       member<&T::processes>("processes", "examinations by process")});
  return shape;
}

Result<Round> examine_all(const RoundRequest& request,
                          const std::function<void(const RoundStatus&)>& on_status) {
  TRY(doctor::select(request.each.only,
                     request.each.settings));  // a wrong one is no process's fault
  auto processes = TRY(list_processes());
  if (processes.empty())
    return fail(Errc::kNotFound, "no .NET process found on this machine")
        .hint("run clrscope ps to list the visible processes");
  return Ward{request, std::move(processes), on_status}.go();
}

}  // namespace clrscope::ops
