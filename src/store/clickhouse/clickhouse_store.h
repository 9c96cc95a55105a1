// The store of a fleet: ClickHouse, one server or a cluster. Any number of fleet servers may use
// it at the same time.
//
// Rows arrive in groups; the ledger says which groups count (ledger.h). Queries are aggregated in
// the engine.
#pragma once

#include <atomic>
#include <functional>
#include <limits>
#include <mutex>
#include <unordered_map>
#include <unordered_set>

#include "base/guarded.h"
#include "store/check.h"
#include "store/clickhouse/ledger.h"
#include "store/clickhouse/rollup.h"
#include "store/clickhouse/row_binary.h"
#include "store/clickhouse/schema.h"
#include "store/store.h"

namespace clrscope::store {

using ClickhouseNodes = std::vector<std::unique_ptr<ClickhouseNode>>;

// "http://a:8123,http://b:8123?database=x": the database of the first counts for all.
Result<ClickhouseNodes> parse_clickhouse(std::string_view urls, QueryLimits limits = {});

class ClickhouseStore final : public Store {
 public:
  static Result<std::unique_ptr<ClickhouseStore>> open(std::string_view urls, Retention retention,
                                                       QueryLimits limits = {});

  Result<std::vector<Stored>> add(std::span<const Batch> batches, WallTime now) override;
  Result<std::vector<ServiceSummary>> services(const TimeRange& range) override;
  Result<std::vector<RouteSummary>> routes(const Selection& selection,
                                           std::chrono::nanoseconds step) override;
  Result<std::vector<Series>> series(const SeriesQuery& query) override;
  Result<> points(const SeriesQuery& query, const OnPoint& on_point) override;
  Result<std::vector<StoredRequest>> slowest(const SlowestQuery& query) override;
  Result<Flame> flame(const FlameQuery& query) override;
  Result<std::vector<StoredRequest>> find(const TraceId& trace) override;
  Result<std::vector<HostSummary>> hosts(const TimeRange& range) override;
  Result<std::vector<Sender>> senders(const TimeRange& range) override;
  Result<> add_otlp(std::span<const OtlpSpan> spans) override;
  Result<std::vector<OtlpSpan>> otlp_spans(const TraceId& trace) override;
  Result<> expire(WallTime now) override;
  Result<> compact(WallTime now) override;  // the engine merges by itself
  Result<> ready() override;
  Result<std::uint64_t> used_bytes() override;
  void set_retention(Retention retention) override;
  Result<bool> add_configuration(const ConfigurationChange& change) override;
  Result<std::vector<ConfigurationChange>> configurations() override;
  Result<> note_agents(std::span<const AgentState> states) override;
  Result<std::vector<AgentState>> agents() override;
  // Whether the views hold what the table of requests holds.
  Result<StoreCheck> check();

 private:
  struct CallPath {
    std::uint64_t parent = 0;
    std::string method{};
  };
  using CallPaths = std::unordered_map<std::uint64_t, CallPath>;
  // Rows of one add(), as RowBinary.
  struct Group;
  static constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max() / 1'000'000'000;
  struct Band {
    std::uint64_t low = 0, high = ~std::uint64_t{0};
  };

  ClickhouseStore(Retention retention, ClickhouseNodes nodes, ClickhouseSchema schema);

  Retention retention() const {
    return retention_.with([](const Retention& one) { return one; });
  }
  // From when on roll-ups are complete. It may change while the server runs: fleet migrate.
  std::int64_t rolled_since() const { return rolled_since_; }
  std::int64_t flames_since() const { return engine_changed_ ? kNever : flames_since_.load(); }
  Result<> read_since();
  Result<> insert_rows(const std::string& table, Bytes rows);
  // To another server if one does not answer.
  Result<Pieces> select(const std::string& sql, std::uint64_t limit = kLargestHeld);
  Result<std::vector<Stored>> add_once(std::span<const Batch> batches, WallTime now,
                                       ClickhouseNode& node, bool& again);
  Result<std::vector<bool>> find_stored(std::span<const Batch> batches, WallTime now);
  std::vector<std::uint64_t> stack_paths(const Batch& batch, std::span<const std::uint64_t> names,
                                         CallPaths& fresh) const;
  Result<> write_paths(ClickhouseNode& node, const CallPaths& fresh);
  // WHERE of all rows of a selection that count.
  Result<std::string> where(const Selection& selection);
  static std::string where(const Selection& selection, const Ledger::View& view);
  // The rows of series() from roll-ups, in all or per step; nothing: they cannot answer this.
  enum class Points : std::uint8_t { kNone, kSteps };
  Result<std::optional<Pieces>> from_rollups(const SeriesQuery& query, Points points,
                                             const Ledger::View& view, std::uint64_t limit);
  // The groups of series(), without points, and their places among them.
  using Places = std::map<std::pair<std::string, std::string>, std::size_t>;
  Result<std::vector<Series>> totals(const SeriesQuery& query, const Ledger::View& view,
                                     Places& places);
  // Their points as they come from the engine, by time and place. `limit`: of the answer.
  using OnStep = std::function<Result<>(std::size_t place, const RoutePoint& point)>;
  Result<> steps(const SeriesQuery& query, const Ledger::View& view, const Places& places,
                 std::uint64_t limit, const OnStep& on_step);
  // Slots of a roll-up that may hold rows that do not count, by epoch.
  using Slots = std::vector<std::pair<std::uint64_t, std::uint32_t>>;
  Result<Slots> unsettled(std::string_view table, const std::string& where,
                          const Ledger::View& view);
  // Self time and calls by call path, and how many requests there are.
  struct CallSums;
  Result<CallSums> sums_from_requests(const FlameQuery& query, const Ledger::View& view);
  // Nothing: the roll-ups cannot answer this.
  Result<std::optional<CallSums>> sums_from_rollups(const FlameQuery& query,
                                                    const Ledger::View& view);
  Result<> check_day(std::int64_t day, StoreCheck& check);
  Result<> check_flames(std::int64_t day, const RollUp& level, const Ledger::View& view,
                        StoreCheck& check);
  // Rows of processes that sent nothing since that day. True: nothing is left to delete.
  Result<bool> delete_sources(std::int64_t day);
  Result<> on_each(const std::function<Result<>(ClickhouseNode&)>& on_node);
  Result<> expire_sources(std::int64_t day, WallTime now);
  Result<> drop_before(std::int64_t day);
  // Deletes old requests until no more than `most` bytes of requests are left.
  Result<> shrink_to(std::uint64_t most, std::int64_t today);
  Result<Band> band_of(const std::string& where, double from, double to);
  Result<CallPaths> paths_of(std::vector<std::uint64_t> wanted);
  Result<std::vector<StoredRequest>> requests_of(const std::string& sql, bool with_spans);

  Guarded<Retention> retention_;
  const ClickhouseNodes nodes_;
  const ClickhouseSchema schema_;  // but for what follows
  std::atomic<std::int64_t> rolled_since_{0}, flames_since_{0};
  std::atomic<bool> engine_changed_{false};
  Ledger ledger_;
  std::atomic<std::size_t> preferred_{0};    // a server that answered
  std::mutex writing_;                       // add()
  GroupId next_{};                           // under writing_
  std::unordered_set<std::uint64_t> known_;  // call paths that are stored; under writing_
  Guarded<CallPaths> cached_;                // for flame()
  std::atomic<std::int64_t> sources_expired_{std::numeric_limits<std::int64_t>::min()};  // day
};

}  // namespace clrscope::store
