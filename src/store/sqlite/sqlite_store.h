// The store of one machine: one SQLite file in WAL mode, column chunks by service and ten seconds.
//
// One writer, any number of readers with connections of their own. A lock file keeps a second
// server away.
#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <shared_mutex>

#include "base/fd.h"
#include "base/guarded.h"
#include "store/cancel.h"
#include "store/sqlite/chunk_sums.h"
#include "store/sqlite/database.h"
#include "store/sqlite/names.h"
#include "store/sqlite/query_memory.h"
#include "store/store.h"

namespace clrscope::store {

class SqliteStore final : public Store {
 public:
  static Result<std::unique_ptr<SqliteStore>> open(const std::string& path, Retention retention,
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
  Result<> compact(WallTime now) override;
  Result<std::uint64_t> used_bytes() override;
  void set_retention(Retention retention) override;
  Result<bool> add_configuration(const ConfigurationChange& change) override;
  Result<std::vector<ConfigurationChange>> configurations() override;
  Result<> note_agents(std::span<const AgentState> states) override;
  Result<std::vector<AgentState>> agents() override;

 private:
  struct SourceName {
    std::string host{};
    std::string version{};
  };
  using Sources = std::map<std::uint32_t, SourceName>;
  using Builders = std::map<std::pair<std::uint32_t, std::int64_t>, ChunkBuilder>;
  // Which requests of a chunk are meant.
  class Filter;
  // Which group of series() a request is in.
  class Grouping;
  // Called with a chunk's key, head, and the request numbers that the filter takes.
  struct Visited {
    std::uint32_t service = 0;
    std::int64_t bucket = 0;
    std::int64_t seq = 0;
    const ChunkHead& head;
    const std::vector<std::uint32_t>& requests;
  };
  using OnChunk = std::function<Result<>(const Visited&)>;
  // Called with the sums of a chunk of which the filter leaves out no request but by its route or
  // source. False: they do not help, and OnChunk is called.
  using OnSums = std::function<Result<bool>(const ChunkSums&, const Filter&)>;
  // Chunks of one service that become one.
  struct Merge {
    struct Chunk {
      std::int64_t t, seq, last;
    };
    std::int64_t service = 0;
    std::vector<Chunk> chunks{};
  };

  SqliteStore(Retention retention, QueryLimits limits, UniqueFd lock,
              std::unique_ptr<Database> writer)
      : retention_(retention),
        limits_(limits),
        lock_(std::move(lock)),
        writer_(std::move(writer)) {}

  Result<Stored> add_one(const Batch& batch, WallTime now, Builders& builders);
  // How much of a batch is stored.
  struct Kept {
    std::uint64_t requests = 0, spans = 0, samples = 0;
  };
  Result<std::uint32_t> note_source(const Batch& batch, WallTime now, const Kept& kept);
  std::vector<std::uint32_t> stack_paths(const Batch& batch, std::span<const std::uint32_t> names);
  Result<> write_chunks(const Builders& builders);
  Result<> write_chunk(std::uint32_t service, std::int64_t t, std::int64_t last,
                       const ChunkBlobs& blobs);
  static Result<std::vector<Merge>> find_merges(Database& database, std::int64_t settled);
  Result<> merge(Merge merge);
  Result<> expire_before(std::int64_t bucket);
  Result<> expire_otlp(std::int64_t bucket);
  Result<> prepare_configurations();
  Result<std::uint64_t> used_pages();  // in bytes; under writing_
  Retention retention() const {
    return retention_.with([](const Retention& one) { return one; });
  }

  // A read connection of the pool for the time of one query.
  template <class F>
  auto reading(F&& query) -> decltype(query(std::declval<Database&>()));
  Result<Sources> sources(Database& database);
  // Without its spans. Under naming_.
  StoredRequest head_of(const ChunkHead& head, std::size_t at, std::int64_t bucket,
                        std::string_view service, const Sources& known) const;
  std::vector<std::string> frames_of(std::uint32_t path) const;
  // Chunks by the begin of their time; those of all services if none is selected.
  Result<> visit(Database& database, const Selection& selection, const OnChunk& on_chunk,
                 const OnSums& on_sums = {}, FlameWeight weight = FlameWeight::kRunning);

  Guarded<Retention> retention_;
  const QueryLimits limits_;
  const UniqueFd lock_;
  std::mutex maintaining_;  // expire() and compact(); taken before writing_
  std::mutex writing_;
  std::unique_ptr<Database> writer_;  // under writing_
  std::shared_mutex naming_;          // taken after writing_
  Names names_;                       // under naming_; changed under writing_ too
  Guarded<std::vector<std::unique_ptr<Database>>> readers_;
};

template <class F>
auto SqliteStore::reading(F&& query) -> decltype(query(std::declval<Database&>())) {
  auto database = readers_.with([](auto& pool) -> std::unique_ptr<Database> {
    if (pool.empty()) return nullptr;
    auto one = std::move(pool.back());
    pool.pop_back();
    return one;
  });
  if (!database) database = TRY(Database::open(writer_->path(), Database::Mode::kRead));
  auto answer = [&]() -> decltype(query(std::declval<Database&>())) {
    TRY(check_cancelled());
    const auto snapshot = TRY(Transaction::begin(*database, "BEGIN"));
    // Ends before the snapshot: its end must not be interrupted.
    const std::stop_callback interrupt{CancelScope::current(), [&] { database->interrupt(); }};
    return query(*database);
  }();
  if (!database->in_transaction())
    readers_.with([&](auto& pool) {
      if (pool.size() < 4) pool.push_back(std::move(database));
    });
  return answer;
}

}  // namespace clrscope::store
