#include "hub/hub.h"

#include <algorithm>
#include <utility>

namespace clrscope::hub {

struct Hub::Tie {
  ListenerId listener{};
  ProviderWish wish{};
};

struct Hub::Routes {
  struct Route {
    std::shared_ptr<Listener> listener;
    std::vector<ProviderWish> wishes;
  };
  std::vector<Route> routes;
};

// Reads on its own thread; what it finds there is never locked against the hub.
class Hub::RuntimeSession {
 public:
  RuntimeSession(SourceWish wish, std::shared_ptr<const SourceInfo> source, std::uint64_t reader)
      : wish_(std::move(wish)), source_(std::move(source)), reader_(reader) {}

  Result<> open(Source& source) {
    session_ = TRY(source.open(
        wish_,
        {.on_batch = [this](const auto& reader, const auto& batch,
                            const auto& owner) { on_batch(reader, batch, owner); },
         .on_end =
             [this](const std::string& why) { ended_.with([&](auto& text) { text = why; }); }}));
    return {};
  }

  bool serves(const ProviderWish& wants, bool stacks) const {
    if (stacks && !wish_.stacks) return false;
    return std::any_of(wish_.providers.begin(), wish_.providers.end(),
                       [&](const auto& has) { return covers(has, wants); });
  }

  void set_routes(std::shared_ptr<const Routes> routes) {
    routes_.with([&](auto& current) { current.swap(routes); });
  }

  std::vector<Tie> ties{};  // the hub's, under its lock
  std::uint64_t events() const { return events_; }
  std::uint64_t unwanted() const { return unwanted_; }
  std::string ended() const {
    return ended_.with([](const auto& text) { return text; });
  }

 private:
  void on_batch(const nettrace::Reader& reader, const nettrace::Batch& batch,
                const std::shared_ptr<const void>& owner) {
    const auto routes = routes_.with([](const auto& current) { return current; });
    if (routes != known_routes_) {
      known_routes_ = routes;
      by_type_.clear();
    }
    const auto* info = reader.info();
    std::shared_ptr<Block> block;
    rows_.resize(routes ? routes->routes.size() : 0);
    for (auto& rows : rows_) rows.clear();
    for (const auto& event : batch.events) {
      const auto& takers = takers_of(*event.type);
      if (takers.empty()) {
        ++unwanted_;
        continue;
      }
      if (!block) {
        const auto sync = info->time_of(info->sync_ticks);
        block = std::make_shared<Block>(source_, owner, reader_,
                                        info->start.time_since_epoch() - sync.time_since_epoch(),
                                        info->pointer_size);
      }
      const auto row = block->add(event, wish_.stacks ? reader.stack(event.stack) : StackView{});
      for (const auto taker : takers) rows_[taker].push_back(row);
    }
    events_ += batch.events.size();
    const auto lost = reader.summary().lost;
    for (std::size_t i = 0; routes && i < routes->routes.size(); ++i) {
      auto& listener = *routes->routes[i].listener;
      if (lost > lost_) listener.add_lost(lost - lost_);
      if (!rows_[i].empty()) listener.offer({block, rows_[i]});
    }
    lost_ = std::max(lost, lost_);
  }

  // Which routes an event of that type takes: looked up once for each type.
  const std::vector<std::uint32_t>& takers_of(const EventType& type) {
    if (type.index >= by_type_.size()) by_type_.resize(type.index + 1);
    auto& takers = by_type_[type.index];
    if (takers) return *takers;
    takers.emplace();
    for (std::uint32_t i = 0; known_routes_ && i < known_routes_->routes.size(); ++i)
      for (const auto& wish : known_routes_->routes[i].wishes)
        if (matches(wish, type)) {
          takers->push_back(i);
          break;
        }
    return *takers;
  }

  const SourceWish wish_;
  const std::shared_ptr<const SourceInfo> source_;
  const std::uint64_t reader_;
  Guarded<std::shared_ptr<const Routes>> routes_;
  std::atomic<std::uint64_t> events_{0}, unwanted_{0};
  Guarded<std::string> ended_;
  // Of the reading thread:
  std::shared_ptr<const Routes> known_routes_;
  std::vector<std::optional<std::vector<std::uint32_t>>> by_type_;
  std::vector<std::vector<std::uint32_t>> rows_;  // by route
  std::uint64_t lost_ = 0;

  std::unique_ptr<SourceSession> session_;  // last member: ends first
};

struct Hub::Attached {
  std::shared_ptr<Source> source;
  std::vector<std::unique_ptr<RuntimeSession>> sessions{};
};

Hub::Hub() = default;

Hub::~Hub() {
  // Sessions first: what they still hand over goes to listeners that are there.
  processes_.clear();
  listeners_.clear();
}

void Hub::reroute(RuntimeSession& session) const {
  auto routes = std::make_shared<Routes>();
  for (const auto& [id, listening] : listeners_) {
    Routes::Route route{.listener = listening.listener, .wishes = {}};
    for (const auto& tie : session.ties)
      if (tie.listener == id) route.wishes.push_back(tie.wish);
    if (!route.wishes.empty()) routes->routes.push_back(std::move(route));
  }
  session.set_routes(std::move(routes));
}

Result<> Hub::serve(Attached& process, ListenerId id, const Listening& listening) {
  const auto& wish = listening.listener->wish();
  auto wanted = wish.providers;
  for (auto& one : providers_for(wish.counters, process.source->info()->runtime_major()))
    wanted.push_back(std::move(one));
  SourceWish missing{.stacks = wish.stacks};
  for (auto& one : wanted) {
    const auto at =
        std::find_if(process.sessions.begin(), process.sessions.end(), [&](const auto& session) {
          return session->ended().empty() && session->serves(one, wish.stacks);
        });
    if (at == process.sessions.end()) {
      missing.providers.push_back(std::move(one));
      continue;
    }
    (*at)->ties.push_back({id, std::move(one)});
    reroute(**at);
  }
  if (missing.providers.empty()) return {};
  auto session = std::make_unique<RuntimeSession>(missing, process.source->info(), next_++);
  for (auto& one : missing.providers) session->ties.push_back({id, std::move(one)});
  reroute(*session);
  TRY(session->open(*process.source));
  process.sessions.push_back(std::move(session));
  return {};
}

void Hub::stop_serving(Attached& process, ListenerId id) {
  const auto is_its = [&](const Tie& tie) { return tie.listener == id; };
  // A session of its own ends with its routes in place: what the runtime still held is handed over.
  std::erase_if(process.sessions, [&](const auto& session) {
    return std::all_of(session->ties.begin(), session->ties.end(), is_its);
  });
  for (auto& session : process.sessions)
    if (std::erase_if(session->ties, is_its) != 0) reroute(*session);
}

Result<ListenerId> Hub::add(SessionWish wish, std::unique_ptr<Sink> sink, Chooses chooses) {
  const std::lock_guard lock{mutex_};
  const ListenerId id{next_++};
  auto& listening = listeners_[id];
  listening = {std::make_shared<Listener>(std::move(wish), std::move(sink)), std::move(chooses)};
  for (auto& process : processes_) {
    const auto& info = process->source->info();
    if (listening.chooses && !listening.chooses(*info)) continue;
    listening.listener->source_changed(info, SourceChange::kCame);
    if (auto served = serve(*process, id, listening); !served) {
      for (auto& each : processes_) stop_serving(*each, id);
      listeners_.erase(id);
      return fail(std::move(served.error()));
    }
  }
  return id;
}

SessionSummary Hub::remove(ListenerId id) {
  std::shared_ptr<Listener> listener;
  {
    const std::lock_guard lock{mutex_};
    const auto at = listeners_.find(id);
    if (at == listeners_.end()) return {};
    listener = at->second.listener;
    for (auto& process : processes_) stop_serving(*process, id);
    listeners_.erase(id);
  }
  listener->finish();
  return listener->summary();
}

std::vector<std::pair<ListenerId, SessionSummary>> Hub::summaries() const {
  const std::lock_guard lock{mutex_};
  std::vector<std::pair<ListenerId, SessionSummary>> all;
  for (const auto& [id, listening] : listeners_)
    all.emplace_back(id, listening.listener->summary());
  return all;
}

Result<> Hub::attach(std::shared_ptr<Source> source) {
  const std::lock_guard lock{mutex_};
  auto process = std::make_unique<Attached>();
  process->source = std::move(source);
  const auto& info = process->source->info();
  for (const auto& [id, listening] : listeners_) {
    if (listening.chooses && !listening.chooses(*info)) continue;
    listening.listener->source_changed(info, SourceChange::kCame);
    TRY(serve(*process, id, listening));
  }
  processes_.push_back(std::move(process));
  return {};
}

void Hub::detach(std::uint64_t source_id) {
  const std::lock_guard lock{mutex_};
  const auto at = std::find_if(processes_.begin(), processes_.end(), [&](const auto& process) {
    return process->source->info()->id == source_id;
  });
  if (at == processes_.end()) return;
  const auto info = (*at)->source->info();
  processes_.erase(at);
  for (const auto& [id, listening] : listeners_)
    if (!listening.chooses || listening.chooses(*info))
      listening.listener->source_changed(info, SourceChange::kGone);
}

std::vector<Hub::ProcessStatus> Hub::processes() const {
  const std::lock_guard lock{mutex_};
  std::vector<ProcessStatus> all;
  for (const auto& process : processes_) {
    ProcessStatus status{.source = process->source->info(), .sessions = process->sessions.size()};
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
