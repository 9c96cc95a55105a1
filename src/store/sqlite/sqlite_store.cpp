#include "store/sqlite/sqlite_store.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "base/private_folder.h"
#include "store/sqlite/schema.h"

namespace clrscope::store {
namespace {

constexpr int kZstdLevel = 1;  // merging compresses better
constexpr std::int64_t kSkewTolerated = 10'000'000'000;
constexpr std::int64_t kDay = 86'400'000'000'000;

Result<UniqueFd> lock_file(const std::string& path) {
  const auto name = path + ".lock";
  UniqueFd file{::open(name.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, kFileMode)};
  if (!file) return fail(errc_of(errno), "cannot open {}: {}", name, errno_text());
  if (::flock(file.get(), LOCK_EX | LOCK_NB) != 0)
    return fail(Errc::kBusy, "{} is in use by another server", path)
        .hint("stop it, or give this one its own --store file");
  return file;
}

std::int64_t unix_ns(WallTime time) { return time.time_since_epoch().count(); }

}  // namespace

Result<std::unique_ptr<SqliteStore>> SqliteStore::open(const std::string& path, Retention retention,
                                                       QueryLimits limits) {
  auto lock = TRY(lock_file(path));
  // Requests hold paths and method names: for its owner alone.
  UniqueFd file{::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, kFileMode)};
  if (!file) return fail(errc_of(errno), "cannot open {}: {}", path, errno_text());
  file.reset();
  auto writer = TRY(Database::open(path, Database::Mode::kWrite));
  TRY(prepare_schema(*writer));
  std::unique_ptr<SqliteStore> store{new SqliteStore{
      retention, limits, std::move(lock), std::move(writer)}};  // its constructor is private
  TRY(store->names_.load(*store->writer_));
  TRY(store->prepare_configurations());
  return store;
}

Result<std::uint32_t> SqliteStore::note_source(const Batch& batch, WallTime now, const Kept& kept) {
  const auto& source = batch.source;
  const auto& recording = batch.recording;
  auto note = TRY(writer_->prepare(R"sql(
INSERT INTO source(instance, host, service, version, pid, runtime, relay_version, first, last, skew, batches, duplicates,
  written_requests, written_spans, stored_requests, stored_spans, seen, sampled, lost_requests, lost_spans, cpu,
  written_samples, stored_samples, lost_samples)
VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?8, ?9, 1, 0, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21)
ON CONFLICT(instance, host, service) DO UPDATE SET version = excluded.version, last = excluded.last, skew = excluded.skew,
  batches = batches + 1,
  written_requests = max(written_requests, excluded.written_requests),
  written_spans = max(written_spans, excluded.written_spans),
  stored_requests = stored_requests + excluded.stored_requests, stored_spans = stored_spans + excluded.stored_spans,
  seen = seen + excluded.seen, sampled = sampled + excluded.sampled,
  lost_requests = lost_requests + excluded.lost_requests, lost_spans = lost_spans + excluded.lost_spans,
  cpu = cpu + excluded.cpu,
  written_samples = max(written_samples, excluded.written_samples),
  stored_samples = stored_samples + excluded.stored_samples, lost_samples = lost_samples + excluded.lost_samples
RETURNING id)sql"));
  note.bind(as_bytes(source.instance), source.host, source.service, source.version, source.pid,
            source.runtime, source.relay_version, unix_ns(now), batch.skew, batch.written_requests,
            batch.written_spans, kept.requests, kept.spans, recording.seen, recording.sampled,
            recording.lost_requests, recording.lost_spans, recording.cpu_ns, batch.written_samples,
            kept.samples, recording.lost_samples);
  TRY(note.step());
  const auto id = static_cast<std::uint32_t>(note.integer(0));
  TRY(note.run());
  return id;
}

// The call path of each stack of a batch, from 1 on; of 0, one that says that it is unknown.
std::vector<std::uint32_t> SqliteStore::stack_paths(const Batch& batch,
                                                    std::span<const std::uint32_t> names) {
  if (batch.samples.stack.empty()) return {};
  const auto& stacks = batch.stacks;
  std::vector<std::uint32_t> paths{0};
  paths.reserve(stacks.method.size() + 1);
  for (std::size_t i = 0; i < stacks.method.size(); ++i)
    paths.push_back(names_.path_of(paths[stacks.parent[i]], names[stacks.method[i]]));
  paths[0] = names_.path_of(0, names_.name_of("(unknown)"));
  return paths;
}

Result<Stored> SqliteStore::add_one(const Batch& batch, WallTime now, Builders& builders) {
  auto ledger =
      TRY(writer_->prepare("INSERT OR IGNORE INTO batch(id, received) VALUES(?, ?) "
                           "RETURNING received"));
  ledger.bind(as_bytes(batch.id), unix_ns(now));
  const bool is_new = TRY(ledger.step());
  if (is_new) TRY(ledger.run());
  if (!is_new) {
    auto again =
        TRY(writer_->prepare("UPDATE source SET duplicates = duplicates + 1, last = ? "
                             "WHERE instance = ? AND host = ? AND service = ?"));
    again.bind(unix_ns(now), as_bytes(batch.source.instance), batch.source.host,
               batch.source.service);
    TRY(again.run());
    return Stored{Stored::Outcome::kDuplicate};
  }
  const auto shift = std::abs(batch.skew) > kSkewTolerated ? batch.skew : 0;
  const auto oldest = unix_ns(now) - retention().age.count(), newest = unix_ns(now) + kDay;
  // The ledger forgets a batch a day after its retention: what is older could be stored twice.
  if (batch.created + shift < oldest) {
    TRY(note_source(batch, now, {}));
    return Stored{Stored::Outcome::kRefused, "older than the retention of the server"};
  }
  const auto keeps = [&](const BatchRequest& request) {
    const auto begin = request.begin + shift;
    return begin >= oldest && begin <= newest;
  };
  Kept kept;
  for (const auto& request : batch.requests) {
    if (!keeps(request)) continue;
    ++kept.requests;
    kept.spans += request.spans;
    kept.samples += request.samples;
  }
  const auto source = TRY(note_source(batch, now, kept));

  const std::unique_lock lock{naming_};
  const auto service = names_.name_of(batch.source.service);
  std::vector<std::uint32_t> names{0};
  names.reserve(batch.names.size() + 1);
  for (const auto& name : batch.names) names.push_back(names_.name_of(name));
  const auto stacks = stack_paths(batch, names);
  std::vector<std::uint32_t> paths, sample_paths;
  std::size_t span = 0, step = 0, sample = 0;
  for (const auto& request : batch.requests) {
    if (keeps(request)) {
      paths.resize(request.spans);
      for (std::uint32_t i = 0; i < request.spans; ++i) {
        const auto parent = batch.spans.parent[span + i];
        paths[i] = names_.path_of(parent == 0 ? 0 : paths[parent - 1],
                                  names[batch.spans.method[span + i]]);
      }
      sample_paths.resize(request.samples);
      for (std::uint32_t i = 0; i < request.samples; ++i)
        sample_paths[i] = stacks[batch.samples.stack[sample + i]];
      auto row = request;
      row.begin += shift;
      row.method = names[row.method];
      row.route = names[row.route];
      row.path = names[row.path];
      row.error = names[row.error];
      const auto bucket = row.begin / kBucket;
      builders[{service, bucket}].add({.request = row,
                                       .source = source,
                                       .spans = batch.spans,
                                       .span = span,
                                       .step = step,
                                       .paths = paths,
                                       .samples = batch.samples,
                                       .sample = sample,
                                       .sample_paths = sample_paths},
                                      bucket);
    }
    span += request.spans;
    step += request.steps;
    sample += request.samples;
  }
  if (kept.requests == 0 && !batch.requests.empty())
    return Stored{Stored::Outcome::kRefused, "its requests are out of the time that is kept"};
  return Stored{Stored::Outcome::kStored};
}

Result<> SqliteStore::write_chunk(std::uint32_t service, std::int64_t t, std::int64_t last,
                                  const ChunkBlobs& blobs) {
  auto insert = TRY(writer_->prepare(
      "INSERT INTO chunk(service, t, seq, last, requests, sampled, errors, spans, "
      "sums, head, stacks, rest, samples, cpu_sums, cpu_stacks, cpu_rest) VALUES(?1, "
      "?2, (SELECT ifnull(max(seq) + 1, 0) FROM chunk WHERE service = ?1 AND t = "
      "?2), ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15)"));
  insert.bind(service, t, last, blobs.requests, blobs.sampled, blobs.errors, blobs.spans,
              as_bytes(blobs.sums), as_bytes(blobs.head), as_bytes(blobs.stacks),
              as_bytes(blobs.rest), blobs.samples, as_bytes(blobs.cpu_sums),
              as_bytes(blobs.cpu_stacks), as_bytes(blobs.cpu_rest));
  return insert.run();
}

Result<> SqliteStore::write_chunks(const Builders& builders) {
  auto trace = TRY(writer_->prepare(kInsertTrace));
  for (const auto& [key, builder] : builders) {
    const auto& [service, bucket] = key;
    TRY(write_chunk(service, bucket, bucket, builder.finish(kZstdLevel)));
    TRY(index_traces(trace, builder.head(), service, bucket));
  }
  return {};
}

Result<std::vector<Stored>> SqliteStore::add(std::span<const Batch> batches, WallTime now) {
  const std::lock_guard lock{writing_};
  auto transaction = TRY(Transaction::begin(*writer_));
  Builders builders;
  std::vector<Stored> outcomes;
  for (const auto& batch : batches) outcomes.push_back(TRY(add_one(batch, now, builders)));
  TRY(write_chunks(builders));
  {
    const std::shared_lock names{naming_};
    TRY(names_.write_new(*writer_));
  }
  TRY(transaction.commit());
  const std::unique_lock names{naming_};
  names_.committed();
  return outcomes;
}

Result<std::uint64_t> SqliteStore::used_pages() {
  auto pages = TRY(writer_->prepare(
      "SELECT (SELECT page_count FROM pragma_page_count) - (SELECT freelist_count FROM "
      "pragma_freelist_count), page_size FROM pragma_page_size"));
  TRY(pages.step());
  return pages.count(0) * pages.count(1);
}

Result<std::uint64_t> SqliteStore::used_bytes() {
  const std::lock_guard lock{writing_};
  return used_pages();
}

void SqliteStore::set_retention(Retention retention) {
  retention_.with([&](Retention& one) { one = retention; });
}

// Whole windows: no chunk and no entry of the index reaches out of one.
Result<> SqliteStore::expire_before(std::int64_t bucket) {
  bucket = bucket / kWindow * kWindow;
  for (;;) {  // in pieces: ingest goes on between them
    const std::lock_guard lock{writing_};
    auto transaction = TRY(Transaction::begin(*writer_));
    auto find = TRY(writer_->prepare(
        "SELECT service, t, seq, head FROM chunk INDEXED BY chunk_by_time WHERE t < ? LIMIT 200"));
    auto traces =
        TRY(writer_->prepare("DELETE FROM trace WHERE key = ? AND service = ? AND t = ?"));
    auto drop = TRY(writer_->prepare("DELETE FROM chunk WHERE service = ? AND t = ? AND seq = ?"));
    struct Key {
      std::int64_t service, t, seq;
    };
    std::vector<Key> keys;
    find.bind(bucket);
    while (TRY(find.step())) {
      const Key key{find.integer(0), find.integer(1), find.integer(2)};
      keys.push_back(key);
      const auto head = read_head(find.blob(3));
      if (!head) continue;  // damaged: its traces lead nowhere
      for (std::size_t at = 0; at < head->size(); ++at) {
        const auto own = key.t + static_cast<std::int64_t>(head->begin[at]) / kBucket;
        TRY(traces.bind(trace_key(head->trace_id[at]), key.service, own).run());
      }
    }
    for (const auto& key : keys) TRY(drop.bind(key.service, key.t, key.seq).run());
    if (keys.empty()) TRY(expire_otlp(bucket));
    TRY(transaction.commit());
    if (keys.empty()) return {};
  }
}

Result<> SqliteStore::expire(WallTime now) {
  constexpr std::int64_t kHour = 360;  // buckets
  const std::lock_guard maintaining{maintaining_};
  const auto retention = this->retention();
  TRY(expire_before((unix_ns(now) - retention.age.count()) / kBucket));
  for (;;) {
    std::int64_t oldest = 0;
    {
      const std::lock_guard lock{writing_};
      if (TRY(used_pages()) <= retention.max_bytes) break;
      auto first = TRY(writer_->prepare(
          "SELECT min(t), count(t) FROM (SELECT min(t) AS t FROM chunk UNION ALL SELECT min(t) "
          "FROM otlp_span)"));
      TRY(first.step());
      if (first.integer(1) == 0) break;
      oldest = first.integer(0);
    }
    TRY(expire_before(oldest + kHour));
  }
  const std::lock_guard lock{writing_};
  auto ledger = TRY(writer_->prepare("DELETE FROM batch WHERE received < ?"));
  TRY(ledger.bind(unix_ns(now) - retention.age.count() - kDay).run());
  auto gone = TRY(writer_->prepare("DELETE FROM source WHERE last < ?"));
  TRY(gone.bind(unix_ns(now) - retention.age.count() - kDay).run());
  auto agents = TRY(writer_->prepare("DELETE FROM agent WHERE time < ?"));
  TRY(agents.bind(unix_ns(now) - retention.age.count() - kDay).run());
  return writer_->run("PRAGMA incremental_vacuum(2000)");
}

}  // namespace clrscope::store
