#include "ops/live/items.h"

#include <fmt/format.h>

#include <map>
#include <optional>
#include <set>

#include "analyze/collections.h"
#include "analyze/sites.h"
#include "analyze/words.h"
#include "base/json.h"
#include "nettrace/event_json.h"
#include "nettrace/payload_events.h"
#include "symbols/method_name.h"

namespace clrscope::ops {
namespace {

using analyze::ms;
using analyze::value_name;
using nettrace::Known;
using nettrace::read_as;
using std::chrono::nanoseconds;

constexpr std::size_t kMostOpen = 10'000;  // things that have begun and not ended

std::uint64_t number(ThreadId thread) { return static_cast<std::uint64_t>(thread); }

// What all of them share: which of the runtime's events are known, by reader.
class RuntimeItems : public ItemMaker {
 public:
  void on_batch(const hub::Batch& batch, std::vector<std::string>& out) final {
    const auto& block = *batch.block;
    if (std::exchange(reader_, block.reader()) != block.reader()) known_.forget();
    for (const auto row : batch.rows) {
      const auto& event = block.events()[row];
      if (const auto known = known_.of(*event.type); known != Known::kNone)
        on_event(block, row, event, known, out);
    }
  }

 protected:
  virtual void on_event(const hub::Block& block, std::uint32_t row, const Event& event, Known known,
                        std::vector<std::string>& out) = 0;

 private:
  std::uint64_t reader_ = 0;
  analyze::KnownEvents known_;
};

// A collection is told when it has ended and its pause is known: looked at once a second, since
// events of several threads come out of order.
class GcItems final : public RuntimeItems {
 public:
  void on_tick(std::vector<std::string>& out) override {
    if (!std::exchange(new_, false)) return;
    analyze::Collections collections;
    for (const auto& one : events_) collections.on_event(one.event, one.known, 8);
    collections.end_of_trace(nettrace::Reader{});
    const auto now = TraceClock::now();
    for (const auto& gc : collections.all()) {
      if (!gc.duration || !gc.pause) continue;
      if (gc.number <= told_up_to_ || !told_.insert(gc.number).second) continue;
      out.push_back(text(gc));
    }
    while (told_.size() > 256) {
      told_up_to_ = std::max(told_up_to_, *told_.begin());
      told_.erase(told_.begin());
    }
    while (!events_.empty() &&
           (events_.front().event.time < now - std::chrono::seconds{30} || events_.size() > 20'000))
      events_.pop_front();
  }

 private:
  struct Kept {
    Event event;
    Known known;
    std::shared_ptr<hub::Block> owner;
  };

  void on_event(const hub::Block& block, std::uint32_t, const Event& event, Known known,
                std::vector<std::string>&) override {
    switch (known) {
      case Known::kGcStart:
      case Known::kGcEnd:
      case Known::kGcSuspendBegin:
      case Known::kGcRestartBegin:
      case Known::kGcRestartEnd:
      case Known::kGcHeapStats:
        break;
      default:
        return;
    }
    wall_offset_ = block.wall_of(event).time_since_epoch() - event.time.time_since_epoch();
    auto owner = hub::Block::like(block);
    owner->add(event, {});
    events_.push_back({owner->events().front(), known, owner});
    new_ = true;
  }

  std::string text(const analyze::Collection& gc) const {
    JsonWriter json;
    json.begin_object()
        .member("time", iso8601(WallTime{gc.start + wall_offset_}))
        .member("number", gc.number)
        .member("generation", gc.generation)
        .member("reason", value_name("GCReason", gc.reason))
        .member("type", value_name("GCType", gc.type))
        .member("pauseMs", ms(*gc.pause))
        .member("longestPauseMs", ms(gc.longest_pause))
        .member("durationMs", ms(*gc.duration));
    if (gc.heap_after)
      json.member("heapAfterBytes", gc.heap_after->total_size())
          .member("gen0Bytes", gc.heap_after->size[0])
          .member("gen1Bytes", gc.heap_after->size[1])
          .member("gen2Bytes", gc.heap_after->size[2])
          .member("lohBytes", gc.heap_after->size[3])
          .member("pohBytes", gc.heap_after->size[4]);
    return json.end_object().text();
  }

  std::deque<Kept> events_;
  bool new_ = false;
  std::set<std::uint32_t> told_;
  std::uint32_t told_up_to_ = 0;
  nanoseconds wall_offset_{};
};

class ExceptionItems final : public RuntimeItems {
 public:
  ExceptionItems(RecentExceptions& recent, Messages messages)
      : recent_(recent), messages_(messages) {}

 private:
  void on_event(const hub::Block& block, std::uint32_t row, const Event& event, Known known,
                std::vector<std::string>& out) override {
    if (known != Known::kException) return;
    const auto thrown = read_as<nettrace::ExceptionThrown>(event, block.pointer_size());
    if (!thrown) return;
    Thrown one{.time = event.time,
               .wall = block.wall_of(event),
               .thread = event.thread,
               .type = utf8_of(thrown->type),
               .message = messages_ == Messages::kShown ? utf8_of(thrown->message)
                                                        : std::string{kWithheldMessage},
               .hresult = thrown->hresult};
    if (event.activity != nullptr && !event.activity->empty())
      one.activity = to_string(*event.activity);
    block.stack(row).copy_to(one.addresses);
    if (one.addresses.size() > RecentExceptions::kFrames)
      one.addresses.resize(RecentExceptions::kFrames);
    JsonWriter json;
    json.begin_object()
        .member("time", iso8601(one.wall))
        .member("type", one.type)
        .member("message", one.message)
        .member("hresult", fmt::format("0x{:08X}", one.hresult))
        .member("threadId", number(one.thread));
    json.member("number", recent_.add(std::move(one)));
    out.push_back(json.end_object().text());
  }

  RecentExceptions& recent_;
  Messages messages_;
};

class ContentionItems final : public RuntimeItems {
  struct Open {
    TraceTime begin;
    std::uint64_t lock = 0, owner = 0;
  };
  void on_event(const hub::Block& block, std::uint32_t, const Event& event, Known known,
                std::vector<std::string>& out) override {
    if (known == Known::kContentionStart) {
      const auto start = read_as<nettrace::ContentionStart>(event, block.pointer_size());
      if (start && open_.size() < kMostOpen)
        open_[event.thread] = {event.time, start->lock, start->owner_thread};
      return;
    }
    if (known != Known::kContentionStop) return;
    const auto at = open_.find(event.thread);
    if (at == open_.end()) return;
    JsonWriter json;
    json.begin_object()
        .member("time", iso8601(block.wall_of(event)))
        .member("threadId", number(event.thread))
        .member("waitedMs", ms(event.time - at->second.begin));
    if (at->second.owner != 0) json.member("ownerThreadId", at->second.owner);
    if (at->second.lock != 0) json.member("lock", fmt::format("0x{:x}", at->second.lock));
    open_.erase(at);
    out.push_back(json.end_object().text());
  }

  std::map<ThreadId, Open> open_;
};

class JitItems final : public RuntimeItems {
  void on_event(const hub::Block& block, std::uint32_t, const Event& event, Known known,
                std::vector<std::string>& out) override {
    if (known == Known::kMethodJittingStarted) {
      const auto start = read_as<nettrace::MethodJittingStarted>(event, block.pointer_size());
      if (start && open_.size() < kMostOpen)
        open_[{event.thread, start->method}] = {event.time, start->il_size};
      return;
    }
    if (known != Known::kMethodLoad) return;
    const auto method = read_as<nettrace::MethodEvent>(event, block.pointer_size());
    if (!method || !method->jitted()) return;
    JsonWriter json;
    json.begin_object()
        .member("time", iso8601(block.wall_of(event)))
        .member("method", method_name(utf8_of(method->name_space), utf8_of(method->name),
                                      utf8_of(method->signature)))
        .member("tier", value_name("OptimizationTier", method->tier()))
        .member("nativeBytes", method->size);
    if (const auto at = open_.find({event.thread, method->method}); at != open_.end()) {
      json.member("ilBytes", at->second.second).member("jitMs", ms(event.time - at->second.first));
      open_.erase(at);
    }
    out.push_back(json.end_object().text());
  }

  std::map<std::pair<ThreadId, std::uint64_t>, std::pair<TraceTime, std::uint32_t>> open_;
};

class PoolItems final : public RuntimeItems {
  void on_event(const hub::Block& block, std::uint32_t, const Event& event, Known known,
                std::vector<std::string>& out) override {
    JsonWriter json;
    json.begin_object().member("time", iso8601(block.wall_of(event)));
    switch (known) {
      case Known::kWorkerStart:
      case Known::kWorkerStop:
      case Known::kWorkerWait: {
        const auto worker = read_as<nettrace::ThreadPoolWorker>(event, block.pointer_size());
        if (!worker || std::exchange(workers_, worker->active) == worker->active) return;
        json.member("workers", worker->active);
        break;
      }
      case Known::kWorkerAdjustment: {
        const auto change = read_as<nettrace::WorkerAdjustment>(event, block.pointer_size());
        if (!change) return;
        json.member("threads", change->threads)
            .member("reason", value_name("ThreadAdjustmentReason", change->reason))
            .member("throughput", change->average_throughput);
        break;
      }
      default:
        return;
    }
    out.push_back(json.end_object().text());
  }

  std::uint32_t workers_ = ~0U;
};

// Whatever was asked for, decoded.
class EventItems final : public ItemMaker {
 public:
  void on_batch(const hub::Batch& batch, std::vector<std::string>& out) override {
    const auto& block = *batch.block;
    if (!known_ || known_->reader != block.reader()) known_.emplace(block);
    for (const auto row : batch.rows) {
      auto event = block.events()[row];
      event.process = ProcessId{block.source().pid};
      std::string text;
      known_->json.append(text, event, known_->plans.of(event), block.wall_of(event));
      while (text.ends_with('\n')) text.pop_back();
      out.push_back(std::move(text));
    }
  }

 private:
  struct Known {
    explicit Known(const hub::Block& block) : reader(block.reader()), plans(block.pointer_size()) {}
    std::uint64_t reader;
    nettrace::PayloadPlans plans;
    nettrace::EventJson json{};
  };
  std::optional<Known> known_;
};

}  // namespace

std::string_view name_of(Topic topic) {
  constexpr std::string_view kNames[] = {"counters",   "gc",         "jit",  "exceptions",
                                         "contention", "threadpool", "logs", "events"};
  return kNames[static_cast<std::size_t>(topic)];
}

std::uint64_t RecentExceptions::add(Thrown thrown) {
  const std::lock_guard lock{mutex_};
  thrown.id = ++total_;
  thrown_.push_back(std::move(thrown));
  if (thrown_.size() > kMost) thrown_.pop_front();
  return total_;
}

std::vector<Thrown> RecentExceptions::all() const {
  const std::lock_guard lock{mutex_};
  return {thrown_.begin(), thrown_.end()};
}

std::uint64_t RecentExceptions::total() const {
  const std::lock_guard lock{mutex_};
  return total_;
}

std::unique_ptr<ItemMaker> make_items(Topic topic, RecentExceptions& exceptions,
                                      Messages messages) {
  switch (topic) {
    case Topic::kGc:
      return std::make_unique<GcItems>();
    case Topic::kJit:
      return std::make_unique<JitItems>();
    case Topic::kExceptions:
      return std::make_unique<ExceptionItems>(exceptions, messages);
    case Topic::kContention:
      return std::make_unique<ContentionItems>();
    case Topic::kThreadPool:
      return std::make_unique<PoolItems>();
    case Topic::kEvents:
      return std::make_unique<EventItems>();
    case Topic::kCounters:
    case Topic::kLogs:
      break;
  }
  return nullptr;
}

}  // namespace clrscope::ops
