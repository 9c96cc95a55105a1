#include "hub/hub.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace clrscope::hub {
namespace {

// A runtime has room for 64, and others want some.
constexpr std::size_t kManySessions = 16;
constexpr std::chrono::seconds kRetry{30};
// While two sessions bring the same, they tell which of them is written first.
constexpr std::chrono::milliseconds kOverlap{20};

}  // namespace

Hub::Hub(std::chrono::nanoseconds settle) : settle_(settle) {
  settler_ = std::jthread{[this](const std::stop_token& stop) { settled(stop); }};
}

Hub::~Hub() {
  settler_.request_stop();
  settler_.join();
  // Sessions first: what they still hand over goes to listeners that are there.
  for (const auto& [id, listening] : listeners_) listening.listener->stop_waiting();
  processes_.clear();
  listeners_.clear();
}

void Hub::changed() {
  due_ = TraceClock::now() + settle_;
  change_.notify_all();
}

void Hub::settled(const std::stop_token& stop) {
  std::unique_lock lock{mutex_};
  while (!stop.stop_requested()) {
    if (!due_ && !look_due_) {
      change_.wait(lock, stop, [&] { return due_ || look_due_; });
      continue;
    }
    const auto next =
        std::min(due_.value_or(TraceTime::max()), look_due_.value_or(TraceTime::max()));
    const auto left = next - TraceClock::now();
    if (left > left.zero()) {
      change_.wait_for(lock, stop, left, [&, due = due_, look = look_due_] {
        return due_ != due || look_due_ != look;
      });
      continue;
    }
    if (look_due_ == next) {
      look_due_.reset();
      lock.unlock();
      look_for_counters();
      lock.lock();
      continue;
    }
    due_.reset();
    for (auto& process : processes_)
      if (!consolidate(*process)) due_ = TraceClock::now() + kRetry;
  }
}

void Hub::look_for_counters() {
  std::vector<std::shared_ptr<Source>> sources;
  {
    const std::lock_guard lock{mutex_};
    for (const auto& process : processes_)
      if (process->counter_sources) sources.push_back(process->source);
  }
  for (const auto& source : sources) {
    auto found = source->counter_sources();
    const std::lock_guard lock{mutex_};
    for (auto& process : processes_) {
      if (process->source != source) continue;
      process->counter_sources = std::move(found);
      serve_new_counters(*process);
      break;
    }
  }
  const std::lock_guard lock{mutex_};
  if (!sources.empty()) look_due_ = TraceClock::now() + kLook;
  change_.notify_all();
}

void Hub::serve_new_counters(Attached& process) {
  const auto major = process.source->info()->runtime_major();
  for (const auto& [id, listening] : listeners_) {
    const auto known = process.requests.find(id);
    if (known == process.requests.end()) continue;
    const auto& request = listening.listener->request();
    auto& requests = known->second;
    const auto before = requests.size();
    for (auto& one : providers_for(expand(request.counters, *process.counter_sources, major), major,
                                   request.limits))
      if (std::find(requests.begin(), requests.end(), one) == requests.end())
        requests.push_back(std::move(one));
    if (requests.size() == before) continue;
    if (!serve_requests(process, id, before)) {
      // Asked again at the next look.
      const auto listener = id;
      for (auto& session : process.sessions)
        std::erase_if(session->ties, [&](const auto& tie) {
          return tie.listener == listener && tie.request >= before;
        });
      requests.resize(before);
      for (auto& session : process.sessions) reroute(process, *session);
    }
    changed();
  }
}

void Hub::reroute(const Attached& process, RuntimeSession& session) const {
  auto routes = std::make_shared<Routes>();
  for (const auto& [id, listening] : listeners_) {
    const auto first = routes->routes.size();
    for (const auto& tie : session.ties) {
      if (tie.listener != id) continue;
      const auto& requests = process.requests.at(id);
      auto at = std::find_if(
          routes->routes.begin() + static_cast<std::ptrdiff_t>(first), routes->routes.end(),
          [&](const auto& route) { return route.to == tie.to && route.from == tie.from; });
      if (at == routes->routes.end())
        at = routes->routes.insert(at, {.listener = listening.listener,
                                        .requests = requests,
                                        .here = std::vector<bool>(requests.size()),
                                        .to = tie.to,
                                        .from = tie.from});
      at->here[tie.request] = true;
    }
  }
  session.set_routes(std::move(routes));
}

Need Hub::need_of(const Attached& process, const RuntimeSession::Tie& tie) const {
  const auto& request = listeners_.at(tie.listener).listener->request();
  return {.request = process.requests.at(tie.listener)[tie.request],
          .stacks = request.stacks,
          .alone = request.waits ? static_cast<std::uint64_t>(tie.listener) : 0};
}

Result<> Hub::serve(Attached& process, ListenerId id, const Listening& listening) {
  const auto& request = listening.listener->request();
  const auto& info = process.source->info();
  auto& requests = process.requests[id];
  requests = request.providers;
  const bool by_pattern = std::any_of(request.counters.begin(), request.counters.end(),
                                      [](const auto& one) { return one.is_pattern(); });
  if (by_pattern && !process.counter_sources) {
    process.counter_sources = process.source->counter_sources();
    look_due_ = TraceClock::now() + kLook;
    change_.notify_all();
  }
  const auto major = info->runtime_major();
  const auto counters =
      by_pattern ? expand(request.counters, *process.counter_sources, major) : request.counters;
  for (auto& one : providers_for(counters, major, request.limits))
    requests.push_back(std::move(one));
  if (by_pattern && !process.counter_sources->incomplete.empty())
    listening.listener->tell(
        fmt::format("{} ({}): {}", info->process, info->pid, process.counter_sources->incomplete));
  return serve_requests(process, id, 0);
}

Result<> Hub::serve_requests(Attached& process, ListenerId id, std::size_t first) {
  const auto& info = process.source->info();
  const auto& requests = process.requests.at(id);
  std::vector<Need> missing;
  std::vector<std::size_t> places;
  for (std::size_t i = first; i < requests.size(); ++i) {
    auto need = need_of(process, {id, i});
    const auto at =
        std::find_if(process.sessions.begin(), process.sessions.end(), [&](const auto& session) {
          return session->ended().empty() && session->alone() == need.alone &&
                 serves(session->request(), need.request, need.stacks);
        });
    if (at == process.sessions.end()) {
      missing.push_back(std::move(need));
      places.push_back(i);
      continue;
    }
    (*at)->ties.push_back({id, i});
  }
  for (auto& session : process.sessions) reroute(process, *session);
  for (auto& planned : plan_sessions(missing)) {
    auto session = std::make_unique<RuntimeSession>(planned.request, planned.alone, info, next_++);
    for (const auto need : planned.needs) session->ties.push_back({id, places[need]});
    reroute(process, *session);
    session->place = free_place(process);
    TRY(session->open(*process.source));
    const std::lock_guard view{view_};
    process.sessions.push_back(std::move(session));
  }
  if (process.sessions.size() >= kManySessions) return consolidate(process);
  return {};
}

std::size_t Hub::free_place(const Attached& process, const Sessions& fresh) {
  const auto has = [](const Sessions& sessions, std::size_t place) {
    return std::any_of(sessions.begin(), sessions.end(),
                       [&](const auto& one) { return one->place == place; });
  };
  std::size_t place = 0;
  while (has(process.sessions, place) || has(fresh, place)) ++place;
  return place;
}

Hub::Sessions Hub::take_out(Attached& process, const std::function<bool(RuntimeSession&)>& which) {
  Sessions out;
  for (auto& session : process.sessions) {
    if (!which(*session)) continue;
    process.events += session->events();
    process.unwanted += session->unwanted();
    out.push_back(std::move(session));
  }
  std::erase(process.sessions, nullptr);
  return out;
}

void Hub::stop_serving(Attached& process, ListenerId id) {
  const auto is_its = [&](const auto& tie) { return tie.listener == id; };
  // A session of its own ends with its routes in place: what the runtime still held is handed over.
  const auto is_idle = [&](const auto& session) {
    return std::all_of(session.ties.begin(), session.ties.end(), is_its);
  };
  // The end of a session makes the provider forget what others configured: it stays with them.
  const auto others_need_it = [&](const RuntimeSession& one) {
    return one.configured() != nullptr &&
           std::any_of(process.sessions.begin(), process.sessions.end(), [&](const auto& other) {
             return other && !is_idle(*other) && other->configured() != nullptr &&
                    other->configured()->name == one.configured()->name;
           });
  };
  Sessions gone;
  {
    const std::lock_guard view{view_};
    gone = take_out(process,
                    [&](RuntimeSession& one) { return is_idle(one) && !others_need_it(one); });
  }
  gone.clear();
  for (auto& session : process.sessions)
    if (std::erase_if(session->ties, is_its) != 0) reroute(process, *session);
  process.requests.erase(id);
}

Result<> Hub::consolidate() {
  const std::lock_guard lock{mutex_};
  for (auto& process : processes_) TRY(consolidate(*process));
  return {};
}

Result<> Hub::consolidate(Attached& process) {
  if (TraceClock::now() < process.not_before) return {};
  std::vector<Need> needs;
  std::vector<std::pair<RuntimeSession*, RuntimeSession::Tie>> ties;
  for (auto& session : process.sessions) {
    if (!session->ended().empty()) return {};  // the process goes
    if (session->configured() != nullptr) continue;
    for (auto& tie : session->ties) {
      if (!session->filters()) tie.from = Routes::kNoPeer;
      needs.push_back(need_of(process, tie));
      ties.emplace_back(session.get(), tie);
    }
    reroute(process, *session);
  }
  auto plan = plan_sessions(needs);
  std::vector<RuntimeSession*> old;
  for (const auto& session : process.sessions)
    if (session->configured() == nullptr) old.push_back(session.get());
  // What is as it should be stays.
  std::erase_if(plan, [&](const PlannedSession& planned) {
    const auto as_planned = [&](const RuntimeSession* one) {
      return one->request() == planned.request && one->ties.size() == planned.needs.size() &&
             std::all_of(planned.needs.begin(), planned.needs.end(),
                         [&](auto need) { return ties[need].first == one; });
    };
    return std::erase_if(old, as_planned) != 0;
  });
  if (plan.empty()) return {};
  Sessions fresh;
  for (const auto& planned : plan) {
    auto session = std::make_unique<RuntimeSession>(planned.request, planned.alone,
                                                    process.source->info(), next_++, true);
    for (const auto need : planned.needs) {
      const auto& [was, tie] = ties[need];
      const auto from = std::find(old.begin(), old.end(), was) - old.begin();
      session->ties.push_back({.listener = tie.listener,
                               .request = tie.request,
                               .from = static_cast<std::size_t>(from)});
      for (auto& one : was->ties)
        if (one.listener == tie.listener && one.request == tie.request) one.to = fresh.size();
    }
    fresh.push_back(std::move(session));
  }
  auto done = switch_over(process, old, std::move(fresh));
  if (!done) process.not_before = TraceClock::now() + kRetry;
  return done;
}

Result<> Hub::switch_over(Attached& process, const std::vector<RuntimeSession*>& old,
                          Sessions fresh) {
  for (auto* one : old) reroute(process, *one);  // from now on they note what they hand on
  for (auto& one : fresh) {
    reroute(process, *one);
    one->place = free_place(process, fresh);
    auto opened = one->open(*process.source);
    if (opened) continue;
    for (auto& each : fresh) each->close();
    for (auto* each : old) {
      for (auto& tie : each->ties) tie.to = Routes::kNoPeer;
      reroute(process, *each);
    }
    return opened;
  }
  const auto on = TraceClock::now();
  std::this_thread::sleep_for(kOverlap);
  for (auto* one : old) one->close();
  for (std::size_t to = 0; to < fresh.size(); ++to) {
    std::vector<RuntimeSession::Old> before;
    for (const auto* one : old)
      before.push_back({one->last(to), /*written_first=*/one->place < fresh[to]->place});
    fresh[to]->release(std::move(before), on);
  }
  Sessions gone;
  const std::lock_guard view{view_};
  gone = take_out(process, [&](RuntimeSession& one) {
    return std::find(old.begin(), old.end(), &one) != old.end();
  });
  for (auto& one : fresh) process.sessions.push_back(std::move(one));
  ++process.switches;
  return {};
}

Result<ListenerId> Hub::add(SessionRequest request, std::unique_ptr<Sink> sink, Chooses chooses) {
  const std::lock_guard lock{mutex_};
  const ListenerId id{next_++};
  Listening made{std::make_shared<Listener>(std::move(request), std::move(sink)),
                 std::move(chooses)};
  {
    const std::lock_guard view{view_};
    listeners_[id] = std::move(made);
  }
  const auto& listening = listeners_[id];
  for (auto& process : processes_) {
    const auto& info = process->source->info();
    if (listening.chooses && !listening.chooses(*info)) continue;
    listening.listener->source_changed(info, SourceChange::kCame);
    if (auto served = serve(*process, id, listening); !served) {
      listening.listener->stop_waiting();
      for (auto& each : processes_) stop_serving(*each, id);
      const std::lock_guard view{view_};
      listeners_.erase(id);
      return fail(std::move(served.error()));
    }
  }
  changed();
  return id;
}

SessionSummary Hub::remove(ListenerId id) {
  std::shared_ptr<Listener> listener;
  {
    const std::lock_guard lock{mutex_};
    const auto at = listeners_.find(id);
    if (at == listeners_.end()) return {};
    listener = at->second.listener;
    listener->stop_waiting();
    for (auto& process : processes_) stop_serving(*process, id);
    const std::lock_guard view{view_};
    listeners_.erase(id);
    changed();
  }
  listener->finish();
  return listener->summary();
}

std::vector<std::pair<ListenerId, SessionSummary>> Hub::summaries() const {
  const std::lock_guard view{view_};
  std::vector<std::pair<ListenerId, SessionSummary>> all;
  for (const auto& [id, listening] : listeners_)
    all.emplace_back(id, listening.listener->summary());
  return all;
}

Result<> Hub::attach(std::shared_ptr<Source> source) {
  const std::lock_guard lock{mutex_};
  auto process = std::make_unique<Attached>();
  process->source = std::move(source);
  const auto info = process->source->info();
  std::vector<Listener*> told;
  for (const auto& [id, listening] : listeners_) {
    if (listening.chooses && !listening.chooses(*info)) continue;
    listening.listener->source_changed(info, SourceChange::kCame);
    told.push_back(listening.listener.get());
    if (auto served = serve(*process, id, listening); !served) {
      process.reset();
      for (auto* one : told) one->source_changed(info, SourceChange::kGone);
      return served;
    }
  }
  const std::lock_guard view{view_};
  processes_.push_back(std::move(process));
  changed();
  return {};
}

void Hub::detach(std::uint64_t source_id) {
  const std::lock_guard lock{mutex_};
  const auto at = std::find_if(processes_.begin(), processes_.end(), [&](const auto& process) {
    return process->source->info()->id == source_id;
  });
  if (at == processes_.end()) return;
  const auto info = (*at)->source->info();
  std::unique_ptr<Attached> gone;
  {
    const std::lock_guard view{view_};
    gone = std::move(*at);
    processes_.erase(at);
  }
  gone.reset();
  for (const auto& [id, listening] : listeners_)
    if (!listening.chooses || listening.chooses(*info))
      listening.listener->source_changed(info, SourceChange::kGone);
}

std::vector<Hub::ProcessStatus> Hub::processes() const {
  const std::lock_guard view{view_};
  std::vector<ProcessStatus> all;
  for (const auto& process : processes_) {
    ProcessStatus status{.source = process->source->info(),
                         .sessions = process->sessions.size(),
                         .switches = process->switches,
                         .events = process->events,
                         .unwanted = process->unwanted};
    for (const auto& session : process->sessions) {
      status.events += session->events();
      status.unwanted += session->unwanted();
      if (auto why = session->ended(); !why.empty()) status.ended = std::move(why);
    }
    all.push_back(std::move(status));
  }
  return all;
}

}  // namespace clrscope::hub
