// The fleet server without its sockets: fleet_bench SPANS FOLDER [STORE], or fleet_bench merge FILE
//
// Takes batches as they come from the network (compressed messages), stores them, merges chunks
// every minute of their time as the server does, and asks. Prints processor time, and what lies on
// disk. The data are those of an invented shop, 20 spans per request, an hour: once 10 services,
// and once the same number of spans of a single route, each batch in a transaction of its own.
// merge: merges the chunks of a store as the server does in time, and prints what it takes on disk.
// With STORE, such as clickhouse:URL, into that one: 10 services, then one of them is asked.
#include <fmt/format.h>
#include <sys/resource.h>
#include <time.h>

#include <cstdlib>
#include <filesystem>
#include <iostream>

#include "base/zstd_block.h"
#include "fleet/convert.h"
#include "store/store.h"
#include "store/test_batches.h"

namespace {

using namespace clrscope;

double cpu_seconds(clockid_t clock) {
  timespec time{};
  ::clock_gettime(clock, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) / 1e9;
}

template <class T>
void copy_column(const std::vector<T>& from, std::size_t first, std::size_t count, auto* to) {
  to->Add(from.begin() + static_cast<std::ptrdiff_t>(first),
          from.begin() + static_cast<std::ptrdiff_t>(first + count));
}

std::string envelope_of(const store::Batch& batch) {
  fleet::v1::RequestBatch out;
  out.mutable_source()->set_host(batch.source.host);
  out.mutable_source()->set_service(batch.source.service);
  out.mutable_source()->set_instance(batch.source.instance);
  out.set_created_unix_ns(static_cast<std::uint64_t>(batch.created));
  for (const auto& name : batch.names) out.add_names(name);
  std::size_t span = 0;
  for (const auto& request : batch.requests) {
    auto& one = *out.add_requests();
    one.set_trace_id(std::string{request.trace_id.begin(), request.trace_id.end()});
    one.set_begin_unix_ns(static_cast<std::uint64_t>(request.begin));
    one.set_duration_ns(request.duration);
    one.set_running_ns(request.running);
    one.set_method(request.method);
    one.set_route(request.route);
    one.set_status(request.status);
    one.set_flags(request.flags);
    auto& spans = *one.mutable_spans();
    copy_column(batch.spans.method, span, request.spans, spans.mutable_method());
    copy_column(batch.spans.parent, span, request.spans, spans.mutable_parent());
    copy_column(batch.spans.begin, span, request.spans, spans.mutable_begin_ns());
    copy_column(batch.spans.duration, span, request.spans, spans.mutable_duration_ns());
    copy_column(batch.spans.self, span, request.spans, spans.mutable_self_ns());
    copy_column(batch.spans.thread, span, request.spans, spans.mutable_thread());
    span += request.spans;
  }
  fleet::v1::BatchEnvelope envelope;
  envelope.set_id(batch.id);
  envelope.set_batch_zstd(zstd_block(as_bytes(out.SerializeAsString()), 1));
  return envelope.SerializeAsString();
}

double peak_mb() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024;
}

constexpr std::size_t kRequests = 500, kSpans = 20;  // of a batch
constexpr std::int64_t kMinute = 60'000'000'000, kHour = 60 * kMinute;

template <class T>
T or_exit(Result<T> result) {
  if (result) return std::move(*result);
  fmt::print(stderr, "{}\n", result.error().what);
  std::exit(1);
}

struct Filling {
  std::string file{};
  std::string store{};  // instead of the file
  std::uint64_t batches = 0;
  std::size_t services = 1, routes = 1;
  std::size_t at_once = 1;  // batches of a transaction
};

class Bench {
 public:
  explicit Bench(const Filling& filling)
      : filling_(filling),
        store_(or_exit(
            store::open_store(filling.store.empty() ? "sqlite:" + filling.file : filling.store,
                              {.age = std::chrono::hours{24 * 365 * 100}}))) {
    const auto start = wall_now().time_since_epoch().count() - kHour;
    auto merged = start;
    for (std::uint64_t i = 0; i < filling.batches;) {
      std::vector<std::string> arrived;
      auto time = start;
      for (std::size_t k = 0; k < filling.at_once && i < filling.batches; ++k, ++i) {
        time = start +
               static_cast<std::int64_t>(i) * kHour / static_cast<std::int64_t>(filling.batches);
        arrived.push_back(envelope_of(store::make_batch(
            {.host = fmt::format("web-{}", i % 7),
             .service = fmt::format("shop-{}", (i / filling.at_once) % filling.services),
             .number = i,
             .requests = kRequests,
             .spans = kSpans,
             .begin = time,
             .step = 1'000,
             .routes = filling.routes})));
      }
      take(arrived);
      if (time < merged + kMinute) continue;
      merged = time;
      merge(WallTime{std::chrono::nanoseconds{time}});
    }
    merge(wall_now() + std::chrono::minutes{10});
  }

  double spans() const { return static_cast<double>(filling_.batches * kRequests * kSpans); }
  double wire() const { return static_cast<double>(wire_) / spans(); }
  double ingest() const { return spans() / ingest_ / 1e6; }  // millions per second
  double merging() const { return spans() / merging_ / 1e6; }
  store::Store& store() { return *store_; }
  double close() {  // bytes on disk
    store_.reset();
    return static_cast<double>(std::filesystem::file_size(filling_.file));
  }

  void ask(const char* name, const store::FlameQuery& query) {
    double best = 1e9;
    std::uint64_t found = 0;
    for (int round = 0; round < 3; ++round) {
      const auto before = cpu_seconds(CLOCK_THREAD_CPUTIME_ID);
      const auto flame = or_exit(store_->flame(query));
      best = std::min(best, cpu_seconds(CLOCK_THREAD_CPUTIME_ID) - before);
      found = flame.spans;
    }
    fmt::print("{} {} ms\n{}_spans {} spans\n", name, best * 1e3, name, found);
  }

 private:
  void take(const std::vector<std::string>& arrived) {
    const auto before = cpu_seconds(CLOCK_PROCESS_CPUTIME_ID);
    std::vector<store::Batch> taken;
    for (const auto& bytes : arrived) {
      wire_ += bytes.size();
      fleet::v1::BatchEnvelope envelope;
      if (!envelope.ParseFromString(bytes)) std::exit(1);
      taken.push_back(or_exit(fleet::batch_of(envelope, 16 << 20)));
    }
    for (const auto& one : or_exit(store_->add(taken, wall_now())))
      if (one.outcome != store::Stored::Outcome::kStored) std::exit(1);
    ingest_ += cpu_seconds(CLOCK_PROCESS_CPUTIME_ID) - before;
  }
  void merge(WallTime now) {
    const auto before = cpu_seconds(CLOCK_PROCESS_CPUTIME_ID);
    if (!store_->compact(now)) std::exit(1);
    merging_ += cpu_seconds(CLOCK_PROCESS_CPUTIME_ID) - before;
  }

  Filling filling_;
  std::unique_ptr<store::Store> store_;
  double ingest_ = 0, merging_ = 0;
  std::uint64_t wire_ = 0;
};

// What a store of real requests takes once all of it is merged.
int merge(const std::string& file) {
  std::uint64_t requests = 0, spans = 0;
  {
    const auto opened = or_exit(store::open_store("sqlite:" + file, {}));
    const auto later = wall_now() + std::chrono::minutes{20};
    for (int round = 0; round < 2; ++round)  // minutes, then tens of minutes
      if (!opened->compact(later)) return 1;
    if (!opened->expire(wall_now())) return 1;  // gives free pages back
    for (const auto& service : or_exit(opened->services({}))) {
      requests += service.requests;
      spans += service.spans;
    }
  }
  if (spans == 0) return 1;
  fmt::print("shop_requests {} requests\nshop_spans {} spans\n", requests, spans);
  fmt::print("shop_disk {} bytes/span\n",
             static_cast<double>(std::filesystem::file_size(file)) / static_cast<double>(spans));
  return 0;
}

template <class F>
void time_of(const char* name, const F& work) {
  const auto before = TraceClock::now();
  work();
  fmt::print("{} {} ms\n", name,
             std::chrono::duration<double, std::milli>(TraceClock::now() - before).count());
}

// What the other processes need is for the caller to measure.
int fill_store(std::uint64_t batches, const std::string& where) {
  Bench fleet{{.store = where, .batches = batches, .services = 10, .routes = 4, .at_once = 20}};
  fmt::print("own {} s\n", fleet.spans() / fleet.ingest() / 1e6);
  std::fflush(stdout);
  std::string line;  // the caller has looked at the other processes
  std::getline(std::cin, line);
  const store::Selection selection{.service = "shop-3", .route = "GET /route/0"};
  std::uint64_t spans = 0;
  time_of("flame", [&] { spans = or_exit(fleet.store().flame({.selection = selection})).spans; });
  fmt::print("flame_spans {} spans\n", spans);
  time_of("routes", [&] {
    return or_exit(fleet.store().routes({.service = "shop-3"}, std::chrono::minutes{1})).size();
  });
  time_of("find", [&] { return or_exit(fleet.store().find(store::test_trace(3, 3))).size(); });
  return spans > 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return 3;
  if (std::string_view{argv[1]} == "merge") return merge(argv[2]);
  const auto batches = std::strtoull(argv[1], nullptr, 10) / (kRequests * kSpans);
  const std::string folder = argv[2];
  if (argc > 3) return fill_store(batches, argv[3]);
  Bench fleet{{.file = folder + "/fleet.db",
               .batches = batches,
               .services = 10,
               .routes = 4,
               .at_once = 20}};
  fmt::print("ingest {} M/s\n", fleet.ingest());
  fmt::print("merging {} M/s\n", fleet.merging());
  fmt::print("wire {} bytes/span\n", fleet.wire());
  const auto before = cpu_seconds(CLOCK_THREAD_CPUTIME_ID);
  const auto routes = or_exit(fleet.store().routes({.service = "shop-3"}, std::chrono::minutes{1}));
  fmt::print("routes {} ms\n", (cpu_seconds(CLOCK_THREAD_CPUTIME_ID) - before) * 1e3);
  const auto last = store::test_trace(batches - 1, 3);
  const auto then = cpu_seconds(CLOCK_THREAD_CPUTIME_ID);
  const auto found = or_exit(fleet.store().find(last));
  fmt::print("find {} ms\n", (cpu_seconds(CLOCK_THREAD_CPUTIME_ID) - then) * 1e3);
  fmt::print("disk {} bytes/span\n", fleet.close() / fleet.spans());

  Bench route{{.file = folder + "/route.db", .batches = batches}};
  fmt::print("route_ingest {} M/s\n", route.ingest());
  fmt::print("route_merging {} M/s\n", route.merging());
  const store::Selection selection{.service = "shop-0", .route = "GET /route/0"};
  route.ask("flame", {.selection = selection});
  route.ask("flame_slowest", {.selection = selection, .from_percentile = 99});
  auto one_host = selection;
  one_host.host = "web-3";
  route.ask("flame_host", {.selection = one_host});
  fmt::print("route_disk {} bytes/span\n", route.close() / route.spans());
  fmt::print("memory {} MB\n", peak_mb());
  return found.size() == 1 && routes.size() == 4 ? 0 : 1;
}
