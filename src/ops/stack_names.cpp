#include "ops/stack_names.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <deque>
#include <map>
#include <thread>
#include <tuple>
#include <unordered_set>

#include "analyze/symbolizer.h"
#include "base/json.h"
#include "collect/eventpipe/early_names.h"
#include "ipc/discover.h"
#include "sinks/own_events.h"

namespace clrscope::ops {
namespace {

constexpr std::chrono::seconds kPatience{3};   // of an event, for the names of its stack
constexpr std::chrono::seconds kLookEvery{1};  // for names of methods that are new
constexpr std::chrono::milliseconds kPoll{50};
constexpr std::size_t kMostHeldBytes = 16 << 20;
constexpr std::string_view kUnnamed = "?";

std::string temp_folder() {
  const char* named = std::getenv("TMPDIR");
  return named && *named ? named : "/tmp";
}

// Types of name events, the same for all processes.
class NameTypes {
 public:
  const EventType& of(const EventType& type) {
    const auto [at, is_new] =
        known_.try_emplace({type.provider, type.id, type.version}, all_->size());
    if (is_new) all_->push_back(type), all_->back().index = static_cast<std::uint32_t>(at->second);
    return (*all_)[at->second];
  }
  std::shared_ptr<const void> owner() const { return all_; }

 private:
  using Key = std::tuple<std::string, std::uint32_t, std::uint32_t>;
  std::map<Key, std::size_t> known_;
  std::shared_ptr<std::deque<EventType>> all_ = std::make_shared<std::deque<EventType>>();
};

// The names that one sink's events need. Belongs to the sink's thread.
class StackNames {
 public:
  void came(const hub::SourceInfo& source) {
    const auto process = ipc::find_process(source.pid);
    if (!process || !process->reachable()) return;
    auto& one = asked_[source.id];
    one.runtime = ipc::connect_endpoint(process->socket, source.pid);
    one.names = std::make_unique<collect::EarlyNames>(*one.runtime, temp_folder(),
                                                      std::chrono::nanoseconds{0}, kLookEvery);
  }
  void gone(const hub::SourceInfo& source) { asked_.erase(source.id); }
  bool asks(const hub::SourceInfo& source) const { return asked_.contains(source.id); }

  void want(const hub::Batch& batch) {
    const auto at = asked_.find(batch.block->source().id);
    if (at == asked_.end()) return;
    fresh_.clear();
    for (const auto row : batch.rows) {
      const auto stack = batch.block->stack(row);
      for (std::size_t i = 0; i < stack.size(); ++i)
        if (at->second.wanted.insert(stack[i]).second) fresh_.push_back(stack[i]);
    }
    if (!fresh_.empty()) at->second.names->want(fresh_);
  }

  // What has been found since the last time, as events of their processes.
  std::vector<hub::Batch> take_found(const std::map<std::uint64_t, hub::SourceInfo>& sources) {
    std::vector<hub::Batch> found;
    for (auto& [id, one] : asked_) {
      const auto names = one.names->take_found();
      const auto source = sources.find(id);
      if (names.empty() || source == sources.end()) continue;
      auto block = std::make_shared<hub::Block>(
          std::make_shared<const hub::SourceInfo>(source->second), types_.owner(),
          sinks::kNamesReader, sinks::wall_offset_now(), 8);
      hub::Batch batch{.block = block, .rows = {}};
      for (const auto& name : names) {
        auto event = name.event();
        event.type = &types_.of(name.type);
        event.process = ProcessId{source->second.pid};
        event.time = TraceClock::now();
        event.ticks = event.time.time_since_epoch().count();
        batch.rows.push_back(block->add(event, {}));
        symbols_.on_event(event, providers_.of(*event.type));
      }
      found.push_back(std::move(batch));
    }
    if (!found.empty()) symbols_.forget_found();
    return found;
  }

  const std::vector<analyze::FrameId>& frames(const hub::Block& block, std::uint32_t row) {
    block.stack(row).copy_to(addresses_);
    symbols_.frames(ProcessId{block.source().pid}, addresses_, block.events()[row].time, ids_);
    return ids_;
  }
  const std::string& name(analyze::FrameId id) const { return table_.frame(id).method; }

  bool all_named(const hub::Batch& batch) {
    return std::ranges::all_of(batch.rows, [&](const auto row) {
      return std::ranges::all_of(frames(*batch.block, row),
                                 [&](const auto id) { return name(id) != kUnnamed; });
    });
  }

  // ["Shop.Cart.Add(int)","0x7f0012345678"], leaf first.
  std::string json(const hub::Block& block, std::uint32_t row) {
    std::string out;
    const auto& ids = frames(block, row);
    for (std::size_t i = 0; i < ids.size(); ++i) {
      out += i == 0 ? '[' : ',';
      append_json_string(
          out, name(ids[i]) == kUnnamed ? fmt::format("0x{:x}", addresses_[i]) : name(ids[i]));
    }
    return out.empty() ? out : out + ']';
  }

 private:
  struct Asked {
    std::unique_ptr<ipc::Endpoint> runtime{};
    std::unordered_set<std::uint64_t> wanted{};
    std::unique_ptr<collect::EarlyNames> names{};  // last: uses the endpoint
  };
  std::map<std::uint64_t, Asked> asked_;  // by source
  std::vector<std::uint64_t> fresh_, addresses_;
  NameTypes types_;
  analyze::Providers providers_;
  analyze::FrameTable table_;
  analyze::Symbolizer symbols_{table_};
  std::vector<analyze::FrameId> ids_;
};

class NamingSink final : public hub::Sink {
 public:
  enum class Where { kInLines, kAsEvents };
  NamingSink(std::unique_ptr<hub::Sink> sink, std::shared_ptr<StackNames> names, Where where)
      : sink_(std::move(sink)), names_(std::move(names)), where_(where) {}

  Result<> open() override { return sink_->open(); }
  Result<> on_source(const hub::SourceInfo& source, hub::SourceChange change) override {
    if (change == hub::SourceChange::kCame) {
      sources_.emplace(source.id, source);
      names_->came(source);
      return sink_->on_source(source, change);
    }
    auto done = hand_on(TraceTime::max());
    sources_.erase(source.id);
    names_->gone(source);
    if (auto told = sink_->on_source(source, change); !told) return told;
    return done;
  }
  Result<> on_batch(const hub::Batch& batch) override {
    names_->want(batch);
    if (where_ == Where::kAsEvents) {
      TRY(sink_->on_batch(batch));
      return hand_on(TraceClock::now());
    }
    held_bytes_ += batch.block->bytes();
    held_.push_back({batch, TraceClock::now()});
    return hand_on(TraceClock::now());
  }
  Result<> on_counters(std::span<const hub::CounterValue> values) override {
    return sink_->on_counters(values);
  }
  Result<> on_dropped(std::uint64_t events) override { return sink_->on_dropped(events); }
  Result<> on_notice(const std::string& text) override { return sink_->on_notice(text); }
  Result<> on_tick() override {
    auto done = hand_on(TraceClock::now());
    if (auto ticked = sink_->on_tick(); !ticked) return ticked;
    return done;
  }
  std::string state() const override { return sink_->state(); }
  std::optional<std::uint64_t> delivered() const override { return sink_->delivered(); }

  // The last events get their names too, as far as they still come.
  Result<> close(const hub::SessionSummary& summary) override {
    auto done = hand_on(TraceClock::now());
    if (where_ == Where::kAsEvents) {
      const auto until = TraceClock::now() + kLookEvery + kPoll;
      for (bool some = false; !sources_.empty() && !some && TraceClock::now() < until;) {
        std::this_thread::sleep_for(kPoll);
        const auto found = names_->take_found(sources_);
        some = !found.empty();
        for (const auto& batch : found)
          if (auto told = sink_->on_batch(batch); !told) done = told;
      }
    }
    while (!held_.empty()) {
      if (auto given = hand_on(TraceClock::now()); !given) done = given;
      std::this_thread::sleep_for(kPoll);
    }
    if (auto closed = sink_->close(summary); !closed) return closed;
    return done;
  }

 private:
  struct Held {
    hub::Batch batch;
    TraceTime since;
  };

  // Names that have come, and events that have theirs or have waited long enough by `now`.
  Result<> hand_on(TraceTime now) {
    Result<> done{};
    for (const auto& batch : names_->take_found(sources_))
      if (where_ == Where::kAsEvents)
        if (auto told = sink_->on_batch(batch); !told) done = told;
    while (!held_.empty()) {
      const auto& [batch, since] = held_.front();
      const bool waits = names_->asks(batch.block->source()) && now < since + kPatience &&
                         held_bytes_ <= kMostHeldBytes && !names_->all_named(batch);
      if (waits) break;
      if (auto given = sink_->on_batch(batch); !given) done = given;
      held_bytes_ -= batch.block->bytes();
      held_.pop_front();
    }
    return done;
  }

  std::unique_ptr<hub::Sink> sink_;
  std::shared_ptr<StackNames> names_;
  const Where where_;
  std::map<std::uint64_t, hub::SourceInfo> sources_;  // those that are there
  std::deque<Held> held_;
  std::size_t held_bytes_ = 0;
};

}  // namespace

Result<std::unique_ptr<hub::Sink>> make_sink_with_names(const sinks::SinkAddress& to,
                                                        sinks::SinkSetting setting) {
  const bool trace = to.kind->name == "file" || to.kind->name == "ctf";
  const auto names = std::make_shared<StackNames>();
  if (!trace)
    setting.stack_json = [names](const hub::Block& block, std::uint32_t row) {
      return names->json(block, row);
    };
  auto sink = TRY(to.kind->make(to, setting));
  return std::make_unique<NamingSink>(
      std::move(sink), names, trace ? NamingSink::Where::kAsEvents : NamingSink::Where::kInLines);
}

}  // namespace clrscope::ops
