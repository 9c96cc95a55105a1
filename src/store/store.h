// Where the fleet server keeps requests. Implementations: sqlite/ (one file), clickhouse/
// (servers).
//
// Every batch is stored once: its id decides. add() returns after the data is safe on disk. Any
// thread; add(), expire() and compact() take turns, queries see whole batches only.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "store/answers.h"
#include "store/batch.h"
#include "store/configuration.h"
#include "store/otlp_span.h"

namespace clrscope::store {

struct Stored {
  enum class Outcome : std::uint8_t { kStored, kDuplicate, kRefused };
  Outcome outcome{};
  std::string reason{};  // of kRefused
};

struct Retention {
  std::chrono::nanoseconds age{std::chrono::hours{24 * 7}};
  std::uint64_t max_bytes = ~std::uint64_t{0};  // of the store; the oldest requests go first
  bool operator==(const Retention&) const = default;
};

// Of one query.
struct QueryLimits {
  std::uint64_t memory = 2'000'000'000;  // bytes in ClickHouse, or that SQLite's queries collect
};

class Store {
 public:
  virtual ~Store() = default;

  // All in one transaction: a failure stores none of them. Batches have passed check_batch(). One
  // whose requests are older than the retention is refused.
  virtual Result<std::vector<Stored>> add(std::span<const Batch> batches, WallTime now) = 0;

  virtual Result<std::vector<ServiceSummary>> services(const TimeRange& range) = 0;
  // step 0: no points over time.
  virtual Result<std::vector<RouteSummary>> routes(const Selection& selection,
                                                   std::chrono::nanoseconds step) = 0;
  // By requests, most first; routes by running time.
  virtual Result<std::vector<Series>> series(const SeriesQuery& query) = 0;
  // The points of series() as they are read, with no more than a few steps in memory: by time, the
  // groups of a step in the order of series(). Ends with the first failure of on_point.
  using OnPoint = std::function<Result<>(const std::string& group, const RoutePoint& point)>;
  virtual Result<> points(const SeriesQuery& query, const OnPoint& on_point) = 0;
  virtual Result<std::vector<StoredRequest>> slowest(const SlowestQuery& query) = 0;
  virtual Result<Flame> flame(const FlameQuery& query) = 0;
  // All requests of that trace.
  virtual Result<std::vector<StoredRequest>> find(const TraceId& trace) = 0;
  // Processes that sent in the range: their first batch came before its end, their last one after
  // its begin.
  virtual Result<std::vector<HostSummary>> hosts(const TimeRange& range = {}) = 0;
  // What these are, each once, by service, version and host.
  virtual Result<std::vector<Sender>> senders(const TimeRange& range) = 0;

  // False: the service has that version already.
  virtual Result<bool> add_configuration(const ConfigurationChange& change) = 0;
  virtual Result<std::vector<ConfigurationChange>> configurations() = 0;  // by service and version
  virtual Result<> note_agents(std::span<const AgentState> states) = 0;
  virtual Result<std::vector<AgentState>> agents() = 0;

  // Spans of other tracers; one that is stored already is not stored again. After a failure any
  // part of them may be stored.
  virtual Result<> add_otlp(std::span<const OtlpSpan> spans) = 0;
  // By begin; at most kMostOtlpSpans + 1.
  virtual Result<std::vector<OtlpSpan>> otlp_spans(const TraceId& trace) = 0;

  // Deletes what is past its retention.
  virtual Result<> expire(WallTime now) = 0;
  // Merges what came in small pieces; answers stay the same.
  virtual Result<> compact(WallTime now) = 0;
  // What it takes of the disk now: of ClickHouse, the sum over all servers.
  virtual Result<std::uint64_t> used_bytes() = 0;
  // From now on.
  virtual void set_retention(Retention retention) = 0;
  // Whether batches can be stored and found now.
  virtual Result<> ready() { return {}; }
};

// "sqlite:FILE", "clickhouse:URL[,URL…]"
Result<std::unique_ptr<Store>> open_store(const std::string& where, Retention retention,
                                          QueryLimits limits = {});

// Creates or updates the tables of a ClickHouse store; others do so when they are opened. What was
// done, as text.
Result<std::string> migrate_store(const std::string& where);

}  // namespace clrscope::store
