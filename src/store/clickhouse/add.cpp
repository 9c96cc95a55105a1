// How batches are stored. The order of the steps is what makes it exactly once:
// docs/adr/0008-clickhouse.md
#include <fmt/format.h>

#include <future>
#include <random>
#include <set>

#include "base/log.h"
#include "store/clickhouse/clickhouse_store.h"
#include "store/clickhouse/hash.h"

namespace clrscope::store {
namespace {

constexpr std::int64_t kBucketNs = 10'000'000'000;
constexpr std::int64_t kSkewTolerated = 10'000'000'000;
constexpr std::int64_t kDay = 86'400'000'000'000;
constexpr std::size_t kMostKnownPaths = 4'000'000;
constexpr std::chrono::seconds kPatience{20};  // relays wait longer

std::int64_t unix_ns(WallTime time) { return time.time_since_epoch().count(); }

GroupId new_epoch() {
  std::random_device random;
  const auto word = std::uint64_t{random()} << 32U | random();
  return {word | std::uint64_t{1} << 63U, 1};  // in SQL all are of the type UInt64
}

template <class T>
std::span<const T> part_of(const std::vector<T>& column, std::size_t first, std::size_t count) {
  return std::span{column}.subspan(first, count);
}

}  // namespace

struct ClickhouseStore::Group {
  GroupId id{};
  ByteWriter requests{};
  ByteWriter sources{};
  std::int64_t order = 0;

  void put_group(ByteWriter& out, std::uint64_t batch) const {
    out.write(batch);
    out.write(id.epoch);
    out.write(id.seq);
  }

  struct Position {
    std::size_t span = 0, step = 0, sample = 0;
  };
  struct Paths {
    std::span<const std::uint64_t> spans{}, samples{};
  };
  struct Counts {
    std::uint64_t requests = 0, spans = 0, samples = 0;
  };
  void put_request(const Batch& batch, std::uint64_t number, const BatchRequest& request,
                   std::int64_t begin, const Position& at, const Paths& paths) {
    const auto name = [&](std::uint32_t position) -> std::string_view {
      return position == 0 ? std::string_view{} : std::string_view{batch.names[position - 1]};
    };
    const auto& spans = batch.spans;
    auto& out = requests;
    write_text(out, batch.source.service);
    out.write(static_cast<std::uint32_t>(begin / kBucketNs));
    out.write(begin);
    put_group(out, number);
    write_text(out, batch.source.host);
    write_text(out, batch.source.version);
    out.put(Bytes{request.trace_id});
    write_text(out, name(request.method));
    write_text(out, name(request.route));
    write_text(out, name(request.path));
    write_text(out, name(request.error));
    out.write(request.status);
    out.write(request.flags);
    for (const auto value : {request.duration, request.running, request.waiting, request.queued,
                             request.bytes_in, request.bytes_out})
      out.write(value);
    out.write(request.spans_lost);
    out.write(request.spans);
    write_array(out, paths.spans);
    write_array(out, part_of(spans.self, at.span, request.spans));
    write_array(out, part_of(spans.parent, at.span, request.spans));
    write_array(out, part_of(spans.begin, at.span, request.spans));
    write_array(out, part_of(spans.duration, at.span, request.spans));
    write_array(out, part_of(spans.queued, at.span, request.spans));
    write_array(out, part_of(spans.thread, at.span, request.spans));
    write_array(out, part_of(spans.kind, at.span, request.spans));
    write_array(out, part_of(spans.steps, at.span, request.spans));
    write_array(out, part_of(spans.step_begin, at.step, request.steps));
    write_array(out, part_of(spans.step_duration, at.step, request.steps));
    write_array(out, part_of(spans.step_thread, at.step, request.steps));
    const auto& samples = batch.samples;
    out.write(request.samples);
    write_array(out, paths.samples);
    write_array(out, part_of(samples.weight, at.sample, request.samples));
    write_array(out, part_of(samples.time, at.sample, request.samples));
    write_array(out, part_of(samples.span, at.sample, request.samples));
    write_array(out, part_of(samples.thread, at.sample, request.samples));
  }

  void put_source(const Batch& batch, std::uint64_t number, WallTime now, bool duplicate,
                  const Counts& stored) {
    const auto& source = batch.source;
    auto& out = sources;
    write_text(out, source.service);
    write_text(out, source.host);
    write_text(out, source.instance);
    put_group(out, number);
    write_text(out, source.version);
    out.write(source.pid);
    write_text(out, source.runtime);
    write_text(out, source.relay_version);
    out.write(static_cast<std::uint32_t>(unix_ns(now) / kDay));
    out.write(unix_ns(now));
    out.write(unix_ns(now) + order++);
    out.write(batch.skew);
    out.write(static_cast<std::uint8_t>(duplicate ? 0 : 1));
    out.write(static_cast<std::uint8_t>(duplicate ? 1 : 0));
    const auto& recording = batch.recording;
    for (const auto value :
         {batch.written_requests, batch.written_spans, stored.requests, stored.spans,
          recording.seen, recording.sampled, recording.lost_requests, recording.lost_spans,
          recording.cpu_ns, batch.written_samples, stored.samples, recording.lost_samples})
      out.write(duplicate ? std::uint64_t{0} : value);
  }
};

// Whether a committed group holds each of them.
Result<std::vector<bool>> ClickhouseStore::find_stored(std::span<const Batch> batches,
                                                       WallTime now) {
  std::vector<std::string> ids;
  for (const auto& batch : batches) ids.push_back(batch.id);
  std::vector<bool> stored(batches.size());
  const auto entries = TRY(ledger_.find(ids));
  if (entries.empty()) return stored;
  Ledger::View view{.committed = TRY(ledger_.committed())};
  std::set<std::string> known;
  std::map<std::uint64_t, std::uint32_t> epochs;
  for (const auto& entry : entries)
    if (view.has(entry.group)) {
      known.insert(entry.batch);
      epochs[entry.group.epoch] = view.committed[entry.group.epoch];
    }
  // A commit that failed half way may be on few servers: what we rely on must be on most.
  for (const auto& [epoch, seq] : epochs) TRY(ledger_.commit({epoch, seq}, now));
  for (std::size_t i = 0; i < batches.size(); ++i) stored[i] = known.contains(batches[i].id);
  return stored;
}

Result<> ClickhouseStore::write_paths(ClickhouseNode& node, const CallPaths& fresh) {
  if (fresh.empty()) return {};
  ByteWriter rows;
  for (const auto& [path, call] : fresh) {
    rows.write(path);
    rows.write(call.parent);
    write_text(rows, call.method);
  }
  TRY(node.insert(schema_.all("path") + " (path, parent, method)", rows.bytes()));
  if (known_.size() + fresh.size() > kMostKnownPaths) known_.clear();  // they are written again
  for (const auto& [path, call] : fresh) known_.insert(path);
  return {};
}

// The call path of each stack of a batch, from 1 on; of 0, one that says that it is unknown.
std::vector<std::uint64_t> ClickhouseStore::stack_paths(const Batch& batch,
                                                        std::span<const std::uint64_t> names,
                                                        CallPaths& fresh) const {
  constexpr std::string_view kUnknown = "(unknown)";
  if (batch.samples.stack.empty()) return {};
  const auto note = [&](std::uint64_t path, std::uint64_t caller, std::string_view method) {
    if (!known_.contains(path)) fresh.try_emplace(path, CallPath{caller, std::string{method}});
    return path;
  };
  const auto& stacks = batch.stacks;
  std::vector<std::uint64_t> paths{0};
  for (std::size_t i = 0; i < stacks.method.size(); ++i) {
    const auto caller = paths[stacks.parent[i]];
    const auto method = stacks.method[i];
    paths.push_back(note(path_of(caller, names[method]), caller, batch.names[method - 1]));
  }
  paths[0] = note(path_of(0, hash_of(kUnknown)), 0, kUnknown);
  return paths;
}

Result<std::vector<Stored>> ClickhouseStore::add_once(std::span<const Batch> batches, WallTime now,
                                                      ClickhouseNode& node, bool& again) {
  again = true;
  const auto stored = TRY(find_stored(batches, now));
  Group group{.id = next_};
  CallPaths fresh;
  std::vector<Stored> outcomes;
  std::vector<std::string> ids;
  std::vector<LedgerEntry> entries;
  std::set<std::string_view> here;
  for (std::size_t b = 0; b < batches.size(); ++b) {
    const auto& batch = batches[b];
    const auto number = batch_number(batch.id);
    if (stored[b] || !here.insert(batch.id).second) {
      group.put_source(batch, number, now, true, {});
      outcomes.push_back({Stored::Outcome::kDuplicate});
      continue;
    }
    ids.push_back(batch.id);
    entries.push_back({batch.id, group.id});
    const auto shift = std::abs(batch.skew) > kSkewTolerated ? batch.skew : 0;
    const auto oldest = unix_ns(now) - retention().age.count(), newest = unix_ns(now) + kDay;
    if (batch.created + shift < oldest) {
      group.put_source(batch, number, now, false, {});
      outcomes.push_back({Stored::Outcome::kRefused, "older than the retention of the server"});
      continue;
    }
    std::vector<std::uint64_t> names{0};
    for (const auto& name : batch.names) names.push_back(hash_of(name));
    const auto stacks = stack_paths(batch, names, fresh);
    std::vector<std::uint64_t> paths, sample_paths;
    Group::Counts kept;
    Group::Position at;
    for (const auto& request : batch.requests) {
      const auto begin = request.begin + shift;
      if (begin >= oldest && begin <= newest) {
        paths.resize(request.spans);
        for (std::uint32_t i = 0; i < request.spans; ++i) {
          const auto parent = batch.spans.parent[at.span + i];
          const auto caller = parent == 0 ? 0 : paths[parent - 1];
          const auto method = batch.spans.method[at.span + i];
          paths[i] = path_of(caller, names[method]);
          if (!known_.contains(paths[i]))
            fresh.try_emplace(paths[i], CallPath{caller, batch.names[method - 1]});
        }
        sample_paths.resize(request.samples);
        for (std::uint32_t i = 0; i < request.samples; ++i)
          sample_paths[i] = stacks[batch.samples.stack[at.sample + i]];
        group.put_request(batch, number, request, begin, at, {paths, sample_paths});
        ++kept.requests, kept.spans += request.spans, kept.samples += request.samples;
      }
      at.span += request.spans;
      at.step += request.steps;
      at.sample += request.samples;
    }
    group.put_source(batch, number, now, false, kept);
    if (kept.requests == 0 && !batch.requests.empty())
      outcomes.push_back(
          {Stored::Outcome::kRefused, "its requests are out of the time that is kept"});
    else
      outcomes.push_back({Stored::Outcome::kStored});
  }
  TRY(write_paths(node, fresh));
  auto sources = std::async(std::launch::async, [&] {
    return node.insert(schema_.all("source"), group.sources.bytes());
  });
  if (group.requests.size() > 0) TRY(node.insert(schema_.all("request"), group.requests.bytes()));
  TRY(sources.get());
  TRY(ledger_.note_batches(entries, now));
  std::vector<LedgerEntry> conflicts;
  for (auto& other : TRY(ledger_.find(ids)))
    if (other.group != group.id) {
      conflicts.push_back({other.batch, group.id});
      conflicts.push_back(std::move(other));
    }
  TRY(ledger_.note_conflicts(conflicts, now));
  TRY(ledger_.commit(group.id, now));
  again = false;
  return outcomes;
}

Result<std::vector<Stored>> ClickhouseStore::add(std::span<const Batch> batches, WallTime now) {
  const std::lock_guard lock{writing_};
  if (next_.epoch == 0) next_ = new_epoch();
  const Deadline deadline{kPatience};
  Error last{Errc::kSystem, "no ClickHouse server is named"};
  const auto first = preferred_.load();
  for (const bool resting : {false, true})
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      auto& node = *nodes_[(first + i) % nodes_.size()];
      if (node.resting() != resting) continue;
      if (deadline.passed()) return fail(std::move(last));
      bool again = false;
      auto outcomes = add_once(batches, now, node, again);
      if (outcomes) {
        ++next_.seq;
        preferred_ = (first + i) % nodes_.size();
        return outcomes;
      }
      // Its rows may arrive yet, or be there in part: they must never count.
      next_ = new_epoch();
      last = outcomes.error();
      if (!again || (last.code != Errc::kSystem && last.code != Errc::kTooLarge))
        return fail(std::move(last));
    }
  return fail(std::move(last));
}

}  // namespace clrscope::store
