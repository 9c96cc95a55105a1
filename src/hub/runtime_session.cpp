#include "hub/runtime_session.h"

#include <algorithm>
#include <utility>

namespace clrscope::hub {
namespace {

// Beyond it the reader waits, and the runtime keeps what comes meanwhile.
constexpr std::size_t kMaxHeldBytes = 64 << 20;

}  // namespace

RuntimeSession::RuntimeSession(SourceRequest request, std::uint64_t alone,
                               std::shared_ptr<const SourceInfo> source, std::uint64_t reader,
                               bool held)
    : request_(std::move(request)),
      alone_(alone),
      source_(std::move(source)),
      reader_(reader),
      holds_(held) {}

Result<> RuntimeSession::open(Source& source) {
  session_ = TRY(source.open(
      request_,
      {.on_batch = [this](const auto& reader, const auto& batch,
                          const auto& owner) { on_batch(reader, batch, owner); },
       .on_end =
           [this](const std::string& why) { ended_.with([&](auto& text) { text = why; }); }}));
  return {};
}

void RuntimeSession::close() {
  {
    const std::lock_guard lock{hold_mutex_};
    discards_ = holds_;
    held_.clear();
    held_bytes_ = 0;
    released_.notify_all();
  }
  session_.reset();
}

void RuntimeSession::set_routes(std::shared_ptr<const Routes> routes) {
  routes_.with([&](auto& current) { current.swap(routes); });
}

void RuntimeSession::on_batch(const nettrace::Reader& reader, const nettrace::Batch& batch,
                              const std::shared_ptr<const void>& owner) {
  auto routes = routes_.with([](const auto& current) { return current; });
  if (routes != known_routes_) {
    known_routes_ = std::move(routes);
    kinds_.clear();
  }
  const auto* info = reader.info();
  std::shared_ptr<Block> block;
  rows_.resize(known_routes_ ? known_routes_->routes.size() : 0);
  for (auto& rows : rows_) rows.clear();
  std::uint64_t unwanted = 0;
  for (const auto& event : batch.events) {
    const auto& kind = kind_of(*event.type);
    if (kind.takers.empty()) {
      ++unwanted;
      continue;
    }
    if (!block) {
      const auto sync = info->time_of(info->sync_ticks);
      const auto shift = wall_shift_.at(TraceClock::now(), wall_now());
      block = std::make_shared<Block>(
          source_, owner, reader_, info->start.time_since_epoch() - sync.time_since_epoch() + shift,
          info->pointer_size);
    }
    const auto row = block->add(event, request_.stacks ? reader.stack(event.stack) : StackView{});
    for (const auto taker : kind.takers) rows_[taker].push_back(row);
    for (const auto to : kind.to) {
      if (to >= last_.size()) last_.resize(to + 1);
      last_[to].note(event, content_of(event, kind.content));
    }
  }
  events_ += batch.events.size();
  unwanted_ += unwanted;
  const auto lost = reader.summary().lost;
  if (lost > lost_ && known_routes_) {
    const Listener* told = nullptr;  // a listener's routes stand side by side
    for (const auto& route : known_routes_->routes)
      if (std::exchange(told, route.listener.get()) != route.listener.get())
        route.listener->add_lost(lost - lost_);
  }
  lost_ = std::max(lost, lost_);
  if (block) hand_on(reader, std::move(block));
}

void RuntimeSession::hand_on(const nettrace::Reader& reader, std::shared_ptr<Block> block) {
  {
    std::unique_lock lock{hold_mutex_};
    if (opened_ == TraceTime{}) opened_ = reader.info()->time_of(reader.info()->sync_ticks);
    released_.wait(lock, [&] { return !holds_ || discards_ || held_bytes_ < kMaxHeldBytes; });
    if (discards_) return;
    if (holds_) {
      held_bytes_ += block->bytes();
      held_.push_back({known_routes_, std::move(block), rows_});
      return;
    }
    if (filters_copies_) leave_out_copies(*known_routes_, *block, rows_);
  }
  for (std::size_t i = 0; i < rows_.size(); ++i)
    if (!rows_[i].empty()) known_routes_->routes[i].listener->offer({block, rows_[i]});
}

void RuntimeSession::release(std::vector<Old> old, TraceTime on) {
  const std::lock_guard lock{hold_mutex_};
  old_ = std::move(old);
  on_ = on;
  filters_copies_ = true;
  for (auto& [routes, block, rows] : held_) {
    if (filters_copies_) leave_out_copies(*routes, *block, rows);
    for (std::size_t i = 0; i < rows.size(); ++i)
      if (!rows[i].empty()) routes->routes[i].listener->offer({block, std::move(rows[i])});
  }
  held_.clear();
  held_bytes_ = 0;
  holds_ = false;
  released_.notify_all();
}

void RuntimeSession::leave_out_copies(const Routes& routes, const Block& block, RowsByRoute& rows) {
  for (const auto& old : std::exchange(old_, {}))
    filters_.emplace_back(
        old.last, SwitchFacts{.opened = opened_, .on = on_, .old_first = old.written_first});
  enum : std::uint8_t { kNotIts, kIts, kCopy };
  std::vector<std::uint8_t> marks(block.events().size());
  for (std::size_t from = 0; from < filters_.size(); ++from) {
    auto& filter = filters_[from];
    if (filter.done()) continue;
    std::fill(marks.begin(), marks.end(), kNotIts);
    for (std::size_t i = 0; i < rows.size(); ++i)
      if (routes.routes[i].from == from)
        for (const auto row : rows[i]) marks[row] = kIts;
    for (std::size_t row = 0; row < marks.size(); ++row) {
      if (marks[row] != kIts) continue;
      const auto& event = block.events()[row];
      if (event.type->index >= contents_.size()) contents_.resize(event.type->index + 1);
      auto& type = contents_[event.type->index];
      if (type == 0) type = content_of(*event.type);
      if (filter.is_copy(event, content_of(event, type))) marks[row] = kCopy;
    }
    for (std::size_t i = 0; i < rows.size(); ++i)
      if (routes.routes[i].from == from)
        std::erase_if(rows[i], [&](auto row) { return marks[row] == kCopy; });
  }
  if (std::all_of(filters_.begin(), filters_.end(), [](const auto& one) { return one.done(); })) {
    filters_.clear();
    filters_copies_ = false;
  }
}

const RuntimeSession::Kind& RuntimeSession::kind_of(const EventType& type) {
  if (type.index >= kinds_.size()) kinds_.resize(type.index + 1);
  auto& kind = kinds_[type.index];
  if (kind.known) return kind;
  kind.known = true;
  kind.content = content_of(type);
  for (std::uint32_t i = 0; known_routes_ && i < known_routes_->routes.size(); ++i) {
    const auto& route = known_routes_->routes[i];
    const auto first = std::find_if(route.requests.begin(), route.requests.end(),
                                    [&](const auto& request) { return matches(request, type); });
    if (first == route.requests.end()) continue;
    if (!route.here[static_cast<std::size_t>(first - route.requests.begin())]) continue;
    kind.takers.push_back(i);
    if (route.to != Routes::kNoPeer &&
        std::find(kind.to.begin(), kind.to.end(), route.to) == kind.to.end())
      kind.to.push_back(route.to);
  }
  return kind;
}

}  // namespace clrscope::hub
