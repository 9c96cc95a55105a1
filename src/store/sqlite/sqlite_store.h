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
#include "store/sqlite/chunk.h"
#include "store/sqlite/database.h"
#include "store/sqlite/names.h"
#include "store/store.h"

namespace clrscope::store {

// What the index by trace id holds: its first eight bytes.
std::int64_t trace_key(const TraceId& trace);

class SqliteStore final : public Store {
 public:
  static Result<std::unique_ptr<SqliteStore>> open(const std::string& path, Retention retention);

  Result<std::vector<Stored>> add(std::span<const Batch> batches, WallTime now) override;
  Result<std::vector<ServiceSummary>> services(const TimeRange& range) override;
  Result<std::vector<RouteSummary>> routes(const Selection& selection,
                                           std::chrono::nanoseconds step) override;
  Result<Flame> flame(const FlameQuery& query) override;
  Result<std::vector<StoredRequest>> find(const TraceId& trace) override;
  Result<std::vector<HostSummary>> hosts() override;
  Result<> expire(WallTime now) override;

 private:
  struct SourceName {
    std::string host{};
    std::string version{};
  };
  using Sources = std::map<std::uint32_t, SourceName>;
  using Builders = std::map<std::pair<std::uint32_t, std::int64_t>, ChunkBuilder>;
  // Which requests of a chunk are meant.
  class Filter;
  // Called with a chunk's key, head, and the request numbers that the filter takes.
  struct Visited {
    std::int64_t bucket = 0;
    std::int64_t seq = 0;
    const ChunkHead& head;
    const std::vector<std::uint32_t>& requests;
  };
  using OnChunk = std::function<Result<>(const Visited&)>;

  SqliteStore(Retention retention, UniqueFd lock, std::unique_ptr<Database> writer)
      : retention_(retention), lock_(std::move(lock)), writer_(std::move(writer)) {}

  Result<Stored> add_one(const Batch& batch, WallTime now, Builders& builders);
  Result<std::uint32_t> note_source(const Batch& batch, WallTime now, std::uint64_t requests,
                                    std::uint64_t spans);
  Result<> write_chunks(const Builders& builders);
  Result<> expire_before(std::int64_t bucket);
  Result<std::uint64_t> used_bytes();

  // A read connection of the pool for the time of one query.
  template <class F>
  auto reading(F&& query) -> decltype(query(std::declval<Database&>()));
  Result<Sources> sources(Database& database);
  Result<> visit(Database& database, const Selection& selection, const OnChunk& on_chunk);

  const Retention retention_;
  const UniqueFd lock_;
  std::mutex writing_;
  std::unique_ptr<Database> writer_;  // under writing_
  std::shared_mutex naming_;          // taken after writing_
  Names names_;                       // under naming_; changed under writing_ too
  Guarded<std::vector<std::unique_ptr<Database>>> readers_;
};

}  // namespace clrscope::store
