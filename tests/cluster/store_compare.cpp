// The same random batches go into SQLite and into ClickHouse, the same random queries must have the
// same answers.
//
//   store_compare FOLDER SEED ADDS READ_URLS [WRITE_URLS…]
//
// Each WRITE_URLS is a fleet server of its own: all of them add every batch at the same time, and
// again until one succeeds; connections may break on the way (flaky_proxy.py). Without any,
// READ_URLS is written to. Prints counts as JSON; a difference ends it with exit code 1.
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <map>
#include <random>
#include <thread>

#include "compare_otlp.h"
#include "store/compare.h"
#include "store/store.h"
#include "store/test_batches.h"

namespace {

using namespace clrscope;
using namespace clrscope::store;
using std::chrono::nanoseconds;

constexpr std::int64_t kStart = 1'800'000'000'000'000'000;
constexpr std::int64_t kSecond = 1'000'000'000;
const WallTime kNow{nanoseconds{kStart} + std::chrono::minutes{20}};
constexpr int kMostTries = 200;

template <class T>
T or_exit(Result<T> result) {
  if (result) return *std::move(result);
  fmt::print(stderr, "store_compare: {}\n", result.error().what);
  std::exit(2);
}

class Chance {
 public:
  explicit Chance(std::uint64_t seed) : random_(seed) {}
  std::uint64_t below(std::uint64_t end) { return random_() % end; }
  bool one_in(std::uint64_t count) { return below(count) == 0; }
  template <class T>
  const T& of(const std::vector<T>& some) {
    return some[below(some.size())];
  }

 private:
  std::mt19937_64 random_;
};

const std::vector<std::string> kServices{"shop", "it's a \\ service", "billing"};
const std::vector<std::string> kHosts{"web-1", "web-2", "ünï"};
const std::vector<std::string> kVersions{"1.0", "1.1"};

// Like make_batch(), with gaps and oddities.
Batch random_batch(Chance& chance, std::uint64_t number) {
  auto batch =
      make_batch({.host = chance.of(kHosts),
                  .service = chance.of(kServices),
                  .version = chance.of(kVersions),
                  .number = number,
                  .requests = chance.below(30),
                  .spans = 1 + chance.below(12),
                  .begin = kStart + static_cast<std::int64_t>(chance.below(1200)) * kSecond,
                  .step = static_cast<std::int64_t>(chance.below(kSecond)),
                  .routes = 1 + chance.below(5),
                  .samples = chance.below(4)});
  batch.source.instance = (batch.source.host + batch.source.version + "-instance").substr(0, 16);
  batch.names.emplace_back("TimeoutException");
  const auto error = static_cast<std::uint32_t>(batch.names.size());
  auto& spans = batch.spans;
  for (std::size_t r = 0, span = 0; r < batch.requests.size(); span += batch.requests[r++].spans) {
    auto& request = batch.requests[r];
    request.status = chance.of(std::vector<std::uint16_t>{200, 200, 200, 404, 503});
    if (chance.one_in(8)) request.error = error;
    if (chance.one_in(6)) request.route = 0;
    if (chance.one_in(4)) request.flags = 0;
    if (chance.one_in(9)) request.duration = 5'000'000;  // percentiles fall on equal values
    request.waiting = chance.below(1000), request.queued = chance.below(50);
    for (std::uint32_t i = 0; i < request.spans; ++i) {
      if (!chance.one_in(5)) continue;
      spans.kind[span + i] = static_cast<std::uint32_t>(chance.below(8));
      spans.queued[span + i] = chance.below(900);
    }
  }
  for (auto& stack : batch.samples.stack)
    if (chance.one_in(9)) stack = 0;
  // Steps lie in the order of the spans: those of the last span are the last.
  if (!batch.requests.empty() && batch.requests.back().spans > 0) {
    for (std::uint32_t i = 0; i < 3; ++i) {
      spans.step_begin.push_back(i * 100);
      spans.step_duration.push_back(7 + i);
      spans.step_thread.push_back(9);
    }
    spans.steps.back() = batch.requests.back().steps = 3;
  }
  if (chance.one_in(15)) batch.created -= 40LL * 86'400 * kSecond;  // past the retention
  if (batch.source.host == kHosts[1]) batch.skew = 3600 * kSecond;
  if (batch.source.host == kHosts[2]) batch.skew = 1'000'000;
  return batch;
}

std::string text_of(const Latency& one) {
  return fmt::format("{} {:.6f} {} {} {} {} {} {} {} {} {} {}", one.requests,
                     one.per_second.value_or(-1), one.errors, one.sampled, one.p50.count(),
                     one.p90.count(), one.p95.count(), one.p99.count(), one.max.count(),
                     one.running.count(), one.waiting.count(), one.queued.count());
}

std::string text_of(const Series& one) {
  auto text = fmt::format("{}: {}", one.group, text_of(one.latency));
  for (const auto& point : one.points)
    text += fmt::format("\n  {} {}", point.time.time_since_epoch().count(), text_of(point.latency));
  return text;
}
std::string text_of(const RouteSummary& one) {
  return text_of(Series{one.route, one.latency, one.points});
}

std::string text_of(const ServiceSummary& one) {
  return fmt::format("{} {} {} {} {} {} {}", one.service, one.requests, one.sampled, one.errors,
                     one.spans, one.first.time_since_epoch().count(),
                     one.last.time_since_epoch().count());
}

std::string text_of(const StoredRequest& one) {
  auto text = fmt::format("{} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {}", one.trace_id,
                          one.service, one.host, one.version, one.method, one.route, one.path,
                          one.error, one.status, one.flags, one.begin.time_since_epoch().count(),
                          one.duration.count(), one.running.count(), one.waiting.count(),
                          one.queued.count(), one.spans_lost, one.span_count);
  text += fmt::format(" {}", one.sample_count);
  for (const auto& span : one.spans) {
    text += fmt::format("\n  {} {} {} {} {} {} {} {} {} {}", span.method, span.parent,
                        span.begin.count(), span.duration.count(), span.self.count(),
                        span.queued.count(), span.thread, span.kind, span.outcome, span.is_async);
    for (const auto& step : span.steps)
      text += fmt::format(" [{} {} {}]", step.begin.count(), step.duration.count(), step.thread);
  }
  // Stacks that took equally long may come in any order.
  std::vector<std::string> stacks;
  for (const auto& stack : one.stacks)
    stacks.push_back(fmt::format("\n  {} {} {} {}", stack.span, stack.samples, stack.cpu.count(),
                                 fmt::join(stack.frames, ";")));
  std::sort(stacks.begin(), stacks.end());
  return text + fmt::format("{}", fmt::join(stacks, ""));
}

std::string text_of(const HostSummary& one) {
  return fmt::format("{} {} {} {} ", one.written_samples, one.stored_samples, one.lost_samples,
                     one.unrecorded_samples) +
         fmt::format("{} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {}",
                     one.host, one.service, one.version, one.instance, one.pid, one.runtime,
                     one.relay_version, one.first.time_since_epoch().count(),
                     one.last.time_since_epoch().count(), one.skew.count(), one.batches,
                     one.written_requests, one.written_spans, one.stored_requests, one.stored_spans,
                     one.lost_requests, one.lost_spans, one.seen, one.sampled, one.sampling_percent,
                     one.unrecorded_requests, one.unrecorded_spans, one.recorder_cpu.count());
}

// Brothers in any order: they may have taken equally long.
std::string text_of(const Flame& one) {
  std::map<std::string, std::string> nodes;
  std::vector<std::string> stack;
  for (std::size_t i = 0; i < one.name.size(); ++i) {
    stack.resize(one.depth[i]);
    stack.push_back(one.names[one.name[i]]);
    nodes[fmt::format("{}", fmt::join(stack, ";"))] =
        fmt::format("{} {}", one.self_ns[i], one.calls[i]);
  }
  auto text = fmt::format("{} {} {} {} {} {}", one.requests, one.spans, one.samples,
                          one.total.count(), one.shortest.count(), one.longest.count());
  for (const auto& [path, sums] : nodes) text += fmt::format("\n  {} {}", path, sums);
  return text;
}

std::string text_of(const RouteChange& one) {
  return fmt::format("{} {} | {} | {:.3f} {:.3f} {:.3f} {:.6f} {} {}", one.route,
                     text_of(one.before.latency), text_of(one.after.latency),
                     one.p50.value_or(-999), one.p95.value_or(-999), one.p99.value_or(-999),
                     one.running.value_or(-999), static_cast<int>(one.verdict), one.reason);
}

std::string text_of(const FlameChange& one) {
  std::map<std::string, std::string> nodes;
  std::vector<std::string> stack;
  for (std::size_t i = 0; i < one.name.size(); ++i) {
    stack.resize(one.depth[i]);
    stack.push_back(one.names[one.name[i]]);
    nodes[fmt::format("{}", fmt::join(stack, ";"))] =
        fmt::format("{} {}", one.before_self_ns[i], one.after_self_ns[i]);
  }
  auto text =
      fmt::format("{} {} {} {} {} {}", one.before_requests, one.after_requests, one.before_samples,
                  one.after_samples, one.before_total.count(), one.after_total.count());
  for (const auto& [path, sums] : nodes) text += fmt::format("\n  {} {}", path, sums);
  return text;
}

std::string text_of(const Comparison& one) {
  auto text = text_of(one.overall);
  for (const auto& route : one.routes) text += "\n" + text_of(route);  // in their order
  return text;
}

template <class T>
std::string text_of(const std::vector<T>& many) {
  std::vector<std::string> lines;
  for (const auto& one : many) lines.push_back(text_of(one));
  std::sort(lines.begin(), lines.end());
  return fmt::format("{}", fmt::join(lines, "\n"));
}

// The points of a query in their order, which must be those of its series as well.
struct Rows {
  std::string text{};
};
const std::string& text_of(const Rows& rows) { return rows.text; }

Result<Rows> rows_of(Store& store, const SeriesQuery& query) {
  Rows found, expected;
  const auto line = [](const std::string& group, const RoutePoint& point) {
    return fmt::format("{} {} {}\n", point.time.time_since_epoch().count(), group,
                       text_of(point.latency));
  };
  const auto add = [&](const std::string& group, const RoutePoint& point) -> Result<> {
    found.text += line(group, point);
    return {};
  };
  TRY(store.points(query, add));
  std::multimap<WallTime, std::string> by_time;
  for (const auto& one : TRY(store.series(query)))
    for (const auto& point : one.points) by_time.emplace(point.time, line(one.group, point));
  for (const auto& [time, text] : by_time) expected.text += text;
  if (found.text != expected.text)
    return fail(Errc::kCorrupt, "points:\n{}differ from those of the series:\n{}", found.text,
                expected.text);
  return found;
}

struct Pair {
  Store& sqlite;
  Store& clickhouse;
  bool replicated = false;  // a replica may be behind for a moment
  std::uint64_t queries = 0, filled = 0;

  template <class Ask>
  void compare(const std::string& what, const Ask& ask) {
    const auto expected = text_of(or_exit(ask(sqlite)));
    auto found = text_of(or_exit(ask(clickhouse)));
    for (const Deadline deadline{std::chrono::seconds{30}};
         replicated && found != expected && !deadline.passed();)
      found = text_of(or_exit(ask(clickhouse)));
    ++queries;
    filled += expected.size() > 20 ? 1 : 0;
    if (expected == found) return;
    fmt::print(stderr, "{} differs\nSQLite:\n{}\nClickHouse:\n{}\n", what, expected, found);
    std::exit(1);
  }
};

Selection random_selection(Chance& chance) {
  Selection one{.service = chance.of(kServices)};
  if (chance.one_in(2)) {
    one.range.from = kStart + static_cast<std::int64_t>(chance.below(1200 * kSecond));
    one.range.to = one.range.from + static_cast<std::int64_t>(chance.below(900 * kSecond));
  }
  if (chance.one_in(3))
    one.route = chance.of(std::vector<std::string>{"GET /route/0", "/route/1", "(no route)",
                                                   "GET (no route)", "POST /route/0", "/nowhere"});
  if (chance.one_in(5)) one.host = chance.of(kHosts);
  if (chance.one_in(5)) one.version = chance.of(kVersions);
  if (chance.one_in(5)) one.status_from = 500, one.status_to = 599;
  return one;
}

void compare_all(Pair& pair, Chance& chance, const std::vector<TraceId>& traces, int rounds) {
  pair.compare("hosts", [](Store& store) { return store.hosts(); });
  // `received` of both is the time of add(), which is equal.
  for (const auto& range : {TimeRange{}, TimeRange{.to = 1}, TimeRange{.from = 1}}) {
    pair.compare("hosts of a range", [&](Store& store) { return store.hosts(range); });
    pair.compare("senders", [&](Store& store) -> Result<std::vector<HostSummary>> {
      std::vector<HostSummary> hosts;
      for (auto& one : TRY(store.senders(range)))
        hosts.push_back({.host = one.host, .service = one.service, .version = one.version});
      return hosts;
    });
  }
  for (int i = 0; i < rounds; ++i) {
    const auto selection = random_selection(chance);
    const nanoseconds step{chance.of(std::vector<std::int64_t>{0, 0, 60, 300, 3600}) * kSecond};
    const double from = chance.one_in(2) ? 0 : static_cast<double>(chance.below(100));
    const double to = chance.one_in(2) ? 100 : from + 0.5;
    const auto by = static_cast<GroupBy>(chance.below(names_of(GroupBy{}).size()));
    const auto trace = chance.of(traces);
    pair.compare("services", [&](Store& store) { return store.services(selection.range); });
    pair.compare("routes", [&](Store& store) { return store.routes(selection, step); });
    pair.compare("series", [&](Store& store) {
      return store.series({.selection = selection, .by = by, .step = step, .now = kNow});
    });
    pair.compare("points", [&](Store& store) {
      return rows_of(store, {.selection = selection, .by = by, .step = step, .now = kNow});
    });
    for (const auto weight : {FlameWeight::kRunning, FlameWeight::kCpu})
      pair.compare("flame", [&](Store& store) {
        return store.flame({selection, from, to, weight});
      });
    const auto limit = chance.one_in(2) ? 100'000 : 1 + chance.below(30);
    pair.compare("slowest", [&](Store& store) {
      return store.slowest({selection, from, to, limit});
    });
    auto before = selection, after = selection;
    before.version = kVersions[0], after.version = kVersions[1];
    if (chance.one_in(3)) before.range = {kStart, kStart + 600 * kSecond};
    pair.compare("comparison", [&](Store& store) {
      return compare(store, {.before = before, .after = after, .now = kNow});
    });
    pair.compare("flame of a comparison", [&](Store& store) {
      return compare_flames(store, {before, from, to}, {after, from, to});
    });
    pair.compare("find", [&](Store& store) { return store.find(trace); });
  }
  pair.compare("points of all services", [](Store& store) {
    return rows_of(store,
                   {.by = GroupBy::kService, .step = nanoseconds{60 * kSecond}, .now = kNow});
  });
  pair.compare("all services", [](Store& store) {
    return store.series({.by = GroupBy::kService, .step = nanoseconds{300 * kSecond}, .now = kNow});
  });
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 5) return 3;
  const auto seed = std::strtoull(argv[2], nullptr, 10), adds = std::strtoull(argv[3], nullptr, 10);
  Chance chance{seed};
  const auto sqlite =
      or_exit(open_store(fmt::format("sqlite:{}/compare-{}.db", argv[1], seed), {}));
  const auto reader = or_exit(open_store(argv[4], {}));
  std::vector<std::unique_ptr<Store>> writers;
  for (int i = 5; i < argc; ++i) {
    auto opened = open_store(argv[i], {});
    for (int tries = 0; !opened && tries < kMostTries; ++tries) opened = open_store(argv[i], {});
    writers.push_back(or_exit(std::move(opened)));
  }

  std::vector<Batch> earlier;
  std::vector<TraceId> traces{TraceId{}};
  std::uint64_t number = 0, duplicates = 0, failures = 0;
  for (std::uint64_t i = 0; i < adds; ++i) {
    std::vector<Batch> batches;
    for (auto count = 1 + chance.below(6); count > 0; --count) {
      if (!earlier.empty() && chance.one_in(6)) {
        batches.push_back(chance.of(earlier));
        continue;
      }
      batches.push_back(random_batch(chance, seed * 1'000'000 + number++));
      for (const auto& request : batches.back().requests) traces.push_back(request.trace_id);
      earlier.push_back(batches.back());
    }
    const auto now = kNow + std::chrono::milliseconds{i};
    const auto expected = or_exit(sqlite->add(batches, now));
    for (const auto& one : expected) duplicates += one.outcome == Stored::Outcome::kDuplicate;
    if (writers.empty()) {
      const auto stored = or_exit(reader->add(batches, now));
      for (std::size_t k = 0; k < stored.size(); ++k)
        if (stored[k].outcome != expected[k].outcome || stored[k].reason != expected[k].reason) {
          fmt::print(stderr, "batch {} of add {} has another outcome\n", k, i);
          return 1;
        }
      continue;
    }
    // Every server, at the same time, each in another grouping, until it succeeds.
    std::atomic<std::uint64_t> failed{0};
    std::atomic<bool> gave_up{false};
    std::vector<std::jthread> threads;
    for (std::size_t w = 0; w < writers.size(); ++w)
      threads.emplace_back([&, w] {
        auto own = batches;
        if (w % 2 == 1) std::reverse(own.begin(), own.end());
        for (int tries = 0; tries < kMostTries; ++tries) {
          if (writers[w]->add(own, now)) return;
          ++failed;
        }
        gave_up = true;
      });
    threads.clear();
    failures += failed;
    if (gave_up) {
      fmt::print(stderr, "add {} never succeeded\n", i);
      return 1;
    }
  }
  Pair pair{*sqlite, *reader, std::string_view{argv[4]}.find(',') != std::string_view::npos};
  compare_all(pair, chance, traces, 12);
  std::vector<Store*> servers;
  for (const auto& one : writers) servers.push_back(one.get());
  compare_otlp(pair, chance, traces, kStart, servers);
  // Past the retention of a week, both forget.
  for (auto* store : {sqlite.get(), reader.get()})
    if (const auto done = store->expire(kNow + std::chrono::days{9}); !done) {
      fmt::print(stderr, "store_compare: {}\n", done.error().what);
      return 2;
    }
  pair.compare("services after the retention", [](Store& store) { return store.services({}); });
  if (!or_exit(reader->services({})).empty() || !or_exit(reader->find(traces.back())).empty() ||
      !or_exit(reader->otlp_spans(TraceId{7})).empty()) {
    fmt::print(stderr, "expire() leaves requests\n");
    return 1;
  }
  fmt::print(
      "{{\"adds\":{},\"batches\":{},\"duplicates\":{},\"failures\":{},\"queries\":{},"
      "\"filled\":{}}}\n",
      adds, number, duplicates, failures, pair.queries, pair.filled);
  return 0;
}
